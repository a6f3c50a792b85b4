"""Records of several sources → one `NodeTopology`."""
