"""A real kubelet's podresources socket and files, read by ours."""
