# shellcheck shell=sh
# The node: processors, memory, kernel, printed texts, the manifest; and the order of it all.

host_name() {
  content proc/sys/kernel/hostname || return 0
  case $said in
    localhost | localhost.localdomain | '(none)' | node | host) ;;
    *) kept host || said=node-$R ;;
  esac
  escape "$said" # whatever it is called: this is the name itself, and not looked for
  member root/proc/sys/kernel/hostname "\"$escaped\\n\""
}

boot_id() {
  content proc/sys/kernel/random/boot_id || return 0
  if kept boot && ! kept uuid; then
    member root/proc/sys/kernel/random/boot_id "\"$said\\n\""
  elif kept uuid && ! kept boot; then
    missed proc/sys/kernel/random/boot_id 'left out: --keep uuid without boot'
  else
    text root/proc/sys/kernel/random/boot_id "$said"
  fi
}

processors_and_memory() {
  file sys/devices/system/cpu/online
  for cpu in "$ROOT"/sys/devices/system/cpu/cpu[0-9]*; do
    file "${cpu#"$ROOT"/}/topology/physical_package_id"
  done
  file sys/devices/system/node/online
  for node in "$ROOT"/sys/devices/system/node/node[0-9]*; do
    [ -d "$node" ] || continue
    node=${node#"$ROOT"/}
    folder "$node"
    file "$node/cpumap"
    file "$node/cpulist"
    file "$node/distance"
    rows "$node/meminfo" meminfo
  done
}

host() {
  file sys/class/dmi/id/product_name
  file sys/class/dmi/id/sys_vendor
  file sys/firmware/devicetree/base/model
  for property in "$ROOT"/sys/hypervisor/properties/*; do
    [ -e "$property" ] && folder "${property#"$ROOT"/}"
  done
  file proc/sys/kernel/osrelease
  file proc/sys/kernel/arch
  host_name
  boot_id
  if content proc/version; then
    # shellcheck disable=SC2086 # the first three words
    set -- $said
    text root/proc/version "$1 $2 $3"
  fi
  FLAGS=
  rows proc/cpuinfo cpu
  command_line
  rows proc/modules module
  rows proc/self/status status
  rows proc/self/cgroup group
  rows proc/self/mounts mount
  rows proc/driver/nvidia/version driver
  for gpu in "$ROOT"/proc/driver/nvidia/gpus/*; do
    [ -d "$gpu" ] || continue
    gpu=${gpu#"$ROOT"/}
    folder "$gpu"
    rows "$gpu/information" gpu
    file "$gpu/numa_status"
  done
}

printed() { # $1: path in the bundle, then a command: what it prints
  path=$1
  shift
  if [ -n "$ROOT" ]; then
    missed "$*" 'the root folder is not that of this machine'
  elif ! command -v "$1" >/dev/null 2>&1; then
    missed "$*" 'not found'
  elif ! command -v timeout >/dev/null 2>&1; then
    missed "$*" 'there is no timeout command, and it might hang'
  elif ! said=$(timeout "$SECONDS_EACH" "$@" 2>/dev/null </dev/null); then
    missed "$*" 'failed, or did not end in time'
  elif leaks "$said"; then
    missed "$*" 'left out: an identity of this node is in it'
  else
    text "$path" "$said"
    return 0
  fi
  return 1
}

yes_no() { if "$@"; then answer=true; else answer=false; fi; }

surroundings() { # what collect knows beside the files
  yes_no [ -d "$ROOT/sys/bus/pci/devices" ]
  around="\"pci\": $answer, \"pci_gpus\": $GPUS"
  yes_no [ -d "$ROOT/proc/driver/nvidia" ]
  around="$around, \"driver\": $answer"
  yes_no [ -e "$ROOT/dev/dxg" ]
  [ -d "$ROOT/usr/lib/wsl" ] || answer=false
  around="$around, \"wsl\": $answer"
  yes_no [ -f "$ROOT/etc/nv_tegra_release" ]
  around="$around, \"tegra\": $answer"
  yes_no [ -e "$ROOT/dev/nvidiactl" ]
  around="$around, \"device\": $answer"
}

manifest() {
  replaced=
  held=
  for kind in @KINDS@; do
    if kept "$kind"; then held="$held, \"$kind\""; else replaced="$replaced, \"$kind\""; fi
  done
  surroundings
  json="{\"gputopo\": \"bundle\", \"version\": 1, \"writtenBy\": \"gputopo @VERSION@, collect.sh\","
  json="$json \"evidence\": [\"root\"$EVIDENCE], \"live\": {\"surroundings\": {$around}}, \"notRead\": [$NOT_READ],"
  json="$json \"redaction\": {\"replaced\": [${replaced#, }], \"kept\": [${held#, }],"
  json="$json \"salt\": \"random: values are equal within this bundle only\"}}"
  escape "$json"
  printf '%s"manifest.json": "%s\\n"' "$COMMA" "$escaped"
}

if [ ! -d "$ROOT/sys" ]; then
  echo "collect.sh: error: no sys/ in this root folder (${ROOT:-/})" >&2
  exit 2
fi
EVIDENCE=
GPUS=false
random_word
identities
printf '{"gputopo": "bundle", "version": 1, "members": {'
processors_and_memory
devices
host
if printed smi/topo-m.txt nvidia-smi topo -m; then EVIDENCE=', "smi/topo-m.txt"'; fi
printed smi/nvlink-s.txt nvidia-smi nvlink -s || :
printed lscpu.txt lscpu || :
[ "$LEFT_OUT" -eq 0 ] || missed "$LEFT_OUT files or links" 'left out: an identity of this node is in them'
missed nvml.json 'the script does not ask the driver; gputopo collect does'
manifest
printf '}}\n'
