#!/bin/sh
# Writes this node's wiring as a feature file of Node Feature Discovery, of which nfd-worker makes labels
# (feature.node.kubernetes.io/gputopo-gpu.nvlink=switch). Run it at boot and after changes: by a timer, or in a pod that
# mounts the folder. It is no hook of NFD's own: those are gone, files are read by every release.
#
#   FOLDER    where nfd-worker reads; GPUTOPO, the program
set -eu
FOLDER=${FOLDER:-/etc/kubernetes/node-feature-discovery/features.d}
GPUTOPO=${GPUTOPO:-gputopo}

test -d "$FOLDER" || {
    echo "gputopo-features: no $FOLDER: is this a node with NFD?" >&2
    exit 2
}
# Written beside the folder, whose every file nfd-worker reads at any time, then renamed: whole, or as it was.
new=$(mktemp "$FOLDER/../.gputopo.XXXXXX")
trap 'rm -f "$new"' EXIT
timeout 60 "$GPUTOPO" export --to nfd --quiet >"$new"
chmod 0644 "$new"
mv "$new" "$FOLDER/gputopo"
