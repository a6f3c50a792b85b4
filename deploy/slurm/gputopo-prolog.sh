#!/bin/sh
# Prolog of Slurm: before each job, is the node still wired as it should be? A prolog that fails drains the node and the
# job is queued again, so it fails for what is certain only, and it is short: LIMIT seconds at most.
#
#   Prolog=/etc/slurm/gputopo-prolog.sh
set -u
SPEC=${SPEC:-/etc/gputopo/node.yaml}
LIMIT=${LIMIT:-20}
GPUTOPO=${GPUTOPO:-gputopo}

case "${SLURM_JOB_GPUS:-}" in
'') exit 0 ;; # a job without GPUs
esac
set -- check --exit-style nagios --quiet --timeout "$((LIMIT > 5 ? LIMIT - 5 : 1))"
if test -r "$SPEC"; then set -- "$@" --spec "$SPEC"; fi
said=$(timeout -k 2 "$LIMIT" "$GPUTOPO" "$@" 2>&1)
code=$?
test "$code" -eq 0 && exit 0
line=$(printf '%s\n' "$said" | head -n 1 | tr -cd '[:alnum:] .,:;/()[]{}+=_%-' | cut -c 1-200)
logger -t gputopo -p daemon.err "job ${SLURM_JOB_ID:-?}: $code: $line"
case "$code $said" in
'2 '*'GPUTOPO CRITICAL'*) exit 1 ;; # it says so, too: Python exits 2 where the program is not there
esac
