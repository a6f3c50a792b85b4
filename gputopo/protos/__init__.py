"""The kubelet's protobuf messages: generated code, loaded where bytes of the kubelet are read.

`python -m gputopo.protos --write` makes it from the .proto files beside it (grpcio-tools), `--check` fails when it
is stale. Messages only: what is asked of the socket are three names (evidence/live/podresources_child.py), and
generated services would tie grpcio to the release of grpcio-tools.
"""
