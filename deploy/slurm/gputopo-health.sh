#!/bin/sh
# HealthCheckProgram of Slurm: drains this node when it is not wired as it should be.
#
#   HealthCheckProgram=/etc/slurm/gputopo-health.sh     HealthCheckInterval=900     HealthCheckNodeState=IDLE,CYCLE
#
# slurmd kills it after 60 s and does not drain by its exit code; a node whose first check does not exit 0 never
# registers. So this script ends by itself within LIMIT, drains by scontrol, and always exits 0. Only a node that is
# certainly wrong is drained: what could not be decided or read is written to the log.
#
#   SPEC      what the node must have (gputopo check --write-spec on a good one); without it: what its GPUs always have
#   LIMIT     seconds, 45; GPUTOPO, the program
set -u
SPEC=${SPEC:-/etc/gputopo/node.yaml}
LIMIT=${LIMIT:-45}
GPUTOPO=${GPUTOPO:-gputopo}

set -- check --exit-style nagios --quiet --timeout "$((LIMIT > 10 ? LIMIT - 10 : 1))"
if test -r "$SPEC"; then set -- "$@" --spec "$SPEC"; fi
said=$(timeout -k 2 "$LIMIT" "$GPUTOPO" "$@" 2>&1)
code=$?
# One line of plain characters: it goes into a log and into Slurm's state.
line=$(printf '%s\n' "$said" | head -n 1 | tr -cd '[:alnum:] .,:;/()[]{}+=_%-' | cut -c 1-200)

case "$code $said" in
'0 '*) exit 0 ;;
'2 '*'GPUTOPO CRITICAL'*) ;; # it says so, too: Python exits 2 where the program is not there
*)
    logger -t gputopo -p daemon.warning "not decided ($code): $line"
    exit 0
    ;;
esac

node=${SLURMD_NODENAME:-$(hostname -s)}
logger -t gputopo -p daemon.err "$line"
if scontrol -o show node "$node" 2>/dev/null | grep -q 'State=[A-Z+*]*DRAIN'; then
    exit 0 # whoever drained it first gave the reason
fi
scontrol update nodename="$node" state=drain reason="gputopo: $line" ||
    logger -t gputopo -p daemon.err "cannot drain $node"
exit 0
