"""What pods, nodes and configurations of a cluster say, as several rules over manifests need it."""
