"""How faults of manifests are mended: what several rules need for it."""
