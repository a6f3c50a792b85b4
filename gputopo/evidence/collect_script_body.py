"""The text of the script that `gputopo collect --print-script` prints; `@…@` are filled in by collect_script.py."""

from __future__ import annotations

BODY = r"""#!/bin/sh
# What gputopo collect writes, from a node without Python (gputopo @VERSION@).
#   sh collect.sh > NODE.ndjson
#   ROOT=/host sh collect.sh > NODE.ndjson        another root folder, e.g. in a container
#   gputopo inspect NODE.ndjson                   anywhere else
# Reads only; needs sh, cat and readlink, no root. Names, UUIDs and ids are replaced by numbers.
export LC_ALL=C
ROOT=${ROOT:-/}
ROOT=${ROOT%/}
KEEP=' @KEEP@ '
SECONDS_EACH=@TIMEOUT@
NL='
'
TAB=$(printf '\t')
WORDS=$IFS
H='[0-9a-fA-F]' # below: one hexadecimal digit, then the shapes made of it
H4=$H$H$H$H
H12=$H4$H4$H4
D='[-_]'
UUID="$H4$H4$D$H4$D$H4$D$H4$D$H12"
SEEN=0
LEFT_OUT=0
KNOWN=
COMMON=' root node host nvidia intel amd gpu cpu sys system proc linux kernel user ubuntu admin data test server '
COMMA=
NOT_READ=

kept() { case $KEEP in *" $1 "*) ;; *) return 1 ;; esac; }

random_word() { # 8 hexadecimal digits
  R=
  { IFS= read -r R < /proc/sys/kernel/random/uuid; } 2>/dev/null
  R=${R%%-*}
  # shellcheck disable=SC2254 # the pattern is meant
  case $R in $H4$H4) ;; *) R=$(printf '%08x' "$$") ;; esac
}

escape() { # $1 as the inside of a JSON string, in $escaped
  escaped=
  rest=$1
  while :; do
    case $rest in
      *[!\ !#-[\]-~]*) ;;
      *) break ;;
    esac
    clean=${rest%%[!\ !#-[\]-~]*}
    rest=${rest#"$clean"}
    odd=${rest%"${rest#?}"}
    rest=${rest#?}
    case $odd in
      '"' | "\\") odd="\\$odd" ;;
      "$TAB") odd='\t' ;;
      "$NL") odd='\n' ;;
      *) odd='?' ;;
    esac
    escaped=$escaped$clean$odd
  done
  escaped=$escaped$rest
}

number() { # $1: a value without separators; $shaped: its replacement, 32 digits
  eval "shaped=\${ID_$1-}"
  if [ -z "$shaped" ]; then
    SEEN=$((SEEN + 1))
    shaped=$R$(printf '%024d' "$SEEN")
    eval "ID_$1=\$shaped"
  fi
}

cut8() { # the first 8 characters of $1 in $first, the others in $others
  others=${1#????????}
  first=${1%"$others"}
}

scrub() { # $1 with its UUIDs and interface names made of a MAC replaced, in $scrubbed
  scrubbed=
  rest=$1
  while ! kept uuid; do
    case $rest in *$UUID*) ;; *) break ;; esac
    # shellcheck disable=SC2295 # the pattern is meant
    before=${rest%%$UUID*}
    rest=${rest#"$before"}
    # shellcheck disable=SC2295
    after=${rest#$UUID}
    found=${rest%"$after"}
    dash=${found#????????}
    dash=${dash%"${dash#?}"}
    case $found in *[!-_0]*) ;; *) scrubbed=$scrubbed$before$found; rest=$after; continue ;; esac
    plain=
    left=$found
    while [ -n "$left" ]; do
      part=${left%%[-_]*}
      plain=$plain$part
      [ "$part" = "$left" ] && break
      left=${left#*[-_]}
    done
    lower "$plain"
    number "$lowered"
    cut8 "$shaped"
    a=$first
    cut8 "$others"
    scrubbed=$scrubbed$before$a$dash${first%????}$dash${first#????}
    cut8 "$others"
    scrubbed=$scrubbed$dash${first%????}$dash${first#????}$others
    rest=$after
  done
  scrubbed=$scrubbed$rest
  case $scrubbed in
    *enx$H12* | *wlx$H12* | *ibx$H12*) kept mac || by_mac ;;
  esac
}

by_mac() { # enx0c42a1036ad2, an interface called by its address
  rest=$scrubbed
  scrubbed=
  while :; do
    case $rest in *[enwlib]x$H12*) ;; *) break ;; esac
    # shellcheck disable=SC2295
    before=${rest%%x$H12*}x
    rest=${rest#"$before"}
    # shellcheck disable=SC2295
    after=${rest#$H12}
    lower "${rest%"$after"}"
    number "$lowered"
    scrubbed=$scrubbed$before${shaped#????????????????????}
    rest=$after
  done
  scrubbed=$scrubbed$rest
}

lower() { # $1 in lower case, in $lowered; only A to F matter
  lowered=$1
  for letter in A:a B:b C:c D:d E:e F:f; do
    while :; do
      case $lowered in *"${letter%:*}"*) ;; *) break ;; esac
      lowered=${lowered%%"${letter%:*}"*}${letter#*:}${lowered#*"${letter%:*}"}
    done
  done
}

remember() { # $1: kind, $2: an identity of this node, which nothing that is printed may hold
  kept "$1" && return 0
  case $2 in '' | ?? | ? | *[!\ -~]*) return 0 ;; esac
  case $2 in 0 | *[!0:.-]*) ;; *) return 0 ;; esac
  case $2 in [Nn]one | [Uu]nknown | "To be filled"* | [Dd]efault* | "Not Spec"* | N/A) return 0 ;; esac
  case $2 in *serial*number*) return 0 ;; esac
  case $COMMON in *" $2 "*) return 0 ;; esac
  KNOWN="$KNOWN$2$NL"
}

identities() {
  for entry in "$ROOT"/sys/class/net/*/address; do
    mac=$(cat "$entry" 2>/dev/null) || continue
    remember mac "$mac"
  done
  for entry in "$ROOT"/sys/class/infiniband/*/*_guid; do
    guid=$(cat "$entry" 2>/dev/null) || continue
    remember guid "$guid"
  done
  for name in product_serial board_serial chassis_serial board_asset_tag chassis_asset_tag product_uuid; do
    content_quietly "sys/class/dmi/id/$name" && remember serial "$said"
  done
  content_quietly etc/machine-id && remember id "$said"
  content_quietly proc/sys/kernel/hostname && {
    case $said in localhost | localhost.localdomain | '(none)' | node | host) ;; *) remember host "${said%%.*}" ;; esac
  }
  content_quietly etc/passwd || return 0
  set -f
  IFS=$NL
  for row in $said; do
    login=${row%%:*}
    row=${row#*:*:}
    case ${row%%:*} in
      [1-9][0-9][0-9][0-9]*) [ "${row%%:*}" -lt 65534 ] && remember user "$login" ;;
    esac
  done
  IFS=$WORDS
  set +f
}

leaks() { # whether an identity stands in $1 as a word
  set -f
  IFS=$NL
  for identity in $KNOWN; do
    case " $1 " in
      *[!0-9A-Za-z]"$identity"[!0-9A-Za-z]*)
        IFS=$WORDS
        set +f
        return 0
        ;;
    esac
  done
  IFS=$WORDS
  set +f
  return 1
}

member() { # $1: path, $2: a JSON value
  scrub "$1"
  escape "$scrubbed"
  printf '%s"%s": %s' "$COMMA" "$escaped" "$2"
  COMMA=', '
}

text() { # $1: path, $2: content
  if leaks "$2" || leaks "$1"; then
    LEFT_OUT=$((LEFT_OUT + 1))
    return 0
  fi
  scrub "$2"
  escape "$scrubbed"
  member "$1" "\"$escaped\\n\""
}

link() { # $1: path of a link below the root
  [ -h "$ROOT/$1" ] || return 0
  target=$(readlink "$ROOT/$1") || return 0
  scrub "$target"
  escape "$scrubbed"
  member "root/$1" "{\"link\": \"$escaped\"}"
}

folder() { member "root/$1" '{"folder": true}'; }

missed() { # $1: what, $2: why
  scrub "$1"
  escape "$scrubbed"
  what=$escaped
  escape "$2"
  NOT_READ="$NOT_READ${NOT_READ:+, }{\"what\": \"$what\", \"why\": \"$escaped\"}"
}

content() { # the content of $1 below the root in $said; fails where there is none
  [ -f "$ROOT/$1" ] || return 1
  if said=$(cat "$ROOT/$1" 2>/dev/null); then return 0; fi
  missed "$1" 'could not be read'
  return 1
}

content_quietly() {
  [ -f "$ROOT/$1" ] && said=$(cat "$ROOT/$1" 2>/dev/null)
}

file() { # a file that holds a number, a list or a state
  content "$1" && text "root/$1" "$said"
  return 0
}

below() { # the place that link $1 names, inside the root, in $place; $1 itself where it is no link
  place=$1
  [ -h "$ROOT/$1" ] || return 0
  target=$(readlink "$ROOT/$1") || return 1
  case $target in
    /*)
      place=${target#/}
      return 0
      ;;
  esac
  place=${1%/*}
  while :; do
    case $target in
      ../*)
        target=${target#../}
        case $place in
          */*) place=${place%/*} ;;
          *) place= ;;
        esac
        ;;
      ./*) target=${target#./} ;;
      *) break ;;
    esac
  done
  place=${place:+$place/}$target
}

rows() { # $1: path; the rows of it that keep_row keeps
  content "$1" || return 0
  kept_rows=
  set -f
  IFS=$NL
  for row in $said; do
    IFS=$WORDS
    keep_"$2" "$row" && kept_rows=$kept_rows${kept_rows:+$NL}$row
    IFS=$NL
  done
  IFS=$WORDS
  set +f
  text "root/$1" "$kept_rows"
}

keep_meminfo() { case $1 in *MemTotal:*) ;; *) return 1 ;; esac; }

keep_status() { case $1 in Cpus_allowed_list:* | Mems_allowed_list:*) ;; *) return 1 ;; esac; }

keep_driver() { # the open module says in brackets who built it
  case $1 in "NVRM version:"*) row=${1%%(*} ;; *) return 1 ;; esac
}

keep_gpu() {
  case $1 in
    Model:* | IRQ:* | "GPU UUID:"* | "Video BIOS:"* | "Bus Type:"* | "DMA Size:"* | "DMA Mask:"* | "Bus Location:"*) ;;
    "Device Minor:"* | "GPU Firmware:"* | "GPU Excluded:"*) ;;
    *) return 1 ;;
  esac
}

keep_cpu() {
  case $1 in
    processor* | vendor_id* | "cpu family"* | model* | "physical id"* | "cpu"[!\ _a-z]* | machine*) ;;
    "CPU implementer"* | "CPU architecture"* | "CPU part"*) ;;
    flags* | Features*) [ -z "$FLAGS" ] && FLAGS=1 ;;
    *) return 1 ;;
  esac
}

keep_module() { row=${1%% *}; }

keep_mount() {
  # shellcheck disable=SC2086 # the fields of the row
  set -- $1
  case $2:$3 in /:* | *:cgroup | *:cgroup2 | *:cpuset) ;; *) return 1 ;; esac
  options=
  IFS=,
  for option in $4; do
    case $option in rw | ro | cpuset | cpu | cpuacct | memory | devices | noprefix) options=$options,$option ;; esac
  done
  IFS=$WORDS
  options=${options#,}
  row="none $2 $3 ${options:-rw} 0 0"
}

keep_group() { # number:controllers:group
  case $1 in *:*:*) ;; *) return 1 ;; esac
  head=${1%%:*}
  group=${1#*:}
  head=$head:${group%%:*}
  group=${group#*:}
  row=$head:
  IFS=/
  slash=
  for part in $group; do
    case $part in
      user.slice | system.slice | init.scope | machine.slice | kubepods | kubepods.slice | docker | lxc) ;;
      lxc.payload | kubepods-burstable.slice | kubepods-besteffort.slice | burstable | besteffort) ;;
      slurm | system | .. | '') ;;
      *)
        ending=
        case $part in *.slice) ending=.slice ;; *.scope) ending=.scope ;; *.service) ending=.service ;; esac
        case $part in
          kubepods*) part=kubepods-x ;;
          cri-containerd*) part=cri-containerd-x ;;
          docker*) part=docker-x ;;
          libpod*) part=libpod-x ;;
          crio*) part=crio-x ;;
          lxc*) part=lxc-x ;;
          user*) part=user-x ;;
          session*) part=session-x ;;
          slurm*) part=slurm-x ;;
          job*) part=job-x ;;
          step*) part=step-x ;;
          *) part=x ;;
        esac
        part=$part$ending
        ;;
    esac
    row=$row$slash$part
    slash=/
  done
  case $group in /) row=$row/ ;; esac
  IFS=$WORDS
}

command_line() { # options of devices, CPUs and memory; the others may be anything
  content proc/cmdline || return 0
  words=
  set -f
  for word in $said; do
    case ${word%%=*} in
      iommu | iommu.passthrough | iommu.strict | intel_iommu | amd_iommu | pci | pcie_acs_override | pcie_aspm) ;;
      pcie_ports | numa | numa_balancing | nosmt | maxcpus | nr_cpus | isolcpus | nohz_full | rcu_nocbs) ;;
      hugepages | hugepagesz | default_hugepagesz | mitigations | systemd.unified_cgroup_hierarchy) ;;
      cgroup_no_v1 | vfio-pci.ids) ;;
      *) continue ;;
    esac
    words="$words${words:+ }$word"
  done
  set +f
  text root/proc/cmdline "$words"
}

host_name() {
  content proc/sys/kernel/hostname || return 0
  case $said in
    localhost | localhost.localdomain | '(none)' | node | host) ;;
    *) kept host || said=node-$R ;;
  esac
  text root/proc/sys/kernel/hostname "$said"
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

config_space() { # root reads more than 64 bytes: what kind of port this is, and its link
  command -v od >/dev/null 2>&1 || return 0
  [ -r "$ROOT/$1/config" ] || return 0
  # shellcheck disable=SC2046 # the bytes are words
  set -- "$1" $(od -An -v -tx1 -N256 "$ROOT/$1/config" 2>/dev/null)
  [ $# -gt 65 ] || return 0
  function=$1
  shift
  IFS=
  member "root/$function/config" "{\"hex\": \"$*\"}"
  IFS=$WORDS
}

pci_function() { # $1: an entry of sys/bus/pci/devices
  link "$1"
  below "$1" || return 0
  function=$place
  for name in class vendor device numa_node local_cpus local_cpulist current_link_speed current_link_width \
    max_link_speed max_link_width; do
    file "$function/$name"
  done
  link "$function/driver"
  link "$function/iommu_group"
  link "$function/physfn"
  for entry in "$ROOT/$function"/virtfn*; do
    link "${entry#"$ROOT"/}"
  done
  if [ -h "$ROOT/$function/iommu_group" ]; then
    group=$(readlink "$ROOT/$function/iommu_group")
    file "sys/kernel/iommu_groups/${group##*/}/type"
  fi
  for entry in "$ROOT/$function"/net/*; do # those with a link in the class come with it
    [ -d "$entry" ] && [ ! -h "$ROOT/sys/class/net/${entry##*/}" ] && net_device "${entry#"$ROOT"/}"
  done
  for entry in "$ROOT/$function"/infiniband/*; do
    [ -d "$entry" ] && [ ! -h "$ROOT/sys/class/infiniband/${entry##*/}" ] && rdma_device "${entry#"$ROOT"/}"
  done
  config_space "$function"
}

net_device() { # $1: the folder of an interface
  folder "$1"
  case $1 in
    */virtual/*) ;;
    *)
      file "$1/operstate"
      file "$1/speed"
      file "$1/type"
      ;;
  esac
  file "$1/bonding/mode"
  file "$1/bonding/slaves"
}

rdma_device() {
  folder "$1"
  link "$1/device"
  for port in "$ROOT/$1"/ports/*; do
    [ -d "$port" ] || continue
    port=${port#"$ROOT"/}
    file "$port/state"
    file "$port/link_layer"
    file "$port/rate"
    for netdev in "$ROOT/$port"/gid_attrs/ndevs/*; do
      # most have none, and say so by an error: no word about each of them
      netdev_name=$(cat "$netdev" 2>/dev/null) || continue
      text "root/${netdev#"$ROOT"/}" "$netdev_name"
    done
  done
}

class_devices() { # $1: folder of a class, $2: what to do with each
  for entry in "$ROOT/$1"/*; do
    [ -d "$entry" ] || [ -h "$entry" ] || continue
    entry=${entry#"$ROOT"/}
    link "$entry"
    below "$entry" || continue
    "$2" "$place"
  done
}

entries() { # the folders in $1, as names only
  [ -d "$ROOT/$1" ] || return 0
  folder "$1"
  for entry in "$ROOT/$1"/*; do
    [ -d "$entry" ] && folder "${entry#"$ROOT"/}"
  done
  return 0
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

devices() {
  [ -d "$ROOT/sys/bus/pci/devices" ] && folder sys/bus/pci/devices
  for device in "$ROOT"/sys/bus/pci/devices/*; do
    [ -d "$device" ] || [ -h "$device" ] || continue
    pci_function "${device#"$ROOT"/}"
  done
  class_devices sys/class/net net_device
  class_devices sys/class/infiniband rdma_device
  for bond in "$ROOT"/sys/class/net/*/bonding; do
    bond=${bond%/bonding}
    below "${bond#"$ROOT"/}" || continue
    bond=$place
    for slave in "$ROOT/$bond"/lower_*; do
      link "${slave#"$ROOT"/}"
    done
  done
  entries sys/kernel/iommu_groups
  entries sys/kernel/mm/memory_peers
  entries sys/module
  file sys/module/nvidia/version
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

manifest() {
  replaced=
  held=
  for kind in host uuid boot serial mac guid ip user id; do
    if kept "$kind"; then held="$held, \"$kind\""; else replaced="$replaced, \"$kind\""; fi
  done
  json="{\"gputopo\": \"bundle\", \"version\": 1, \"writtenBy\": \"gputopo @VERSION@, collect.sh\","
  json="$json \"evidence\": [\"root\"$EVIDENCE], \"notRead\": [$NOT_READ],"
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
random_word
identities
printf '{"gputopo": "bundle", "version": 1, "members": {'
processors_and_memory
devices
host
if printed smi/topo-m.txt nvidia-smi topo -m; then EVIDENCE=', "smi/topo-m.txt"'; fi
printed smi/nvlink-s.txt nvidia-smi nvlink -s || :
printed lscpu.txt lscpu || :
[ "$LEFT_OUT" -eq 0 ] || missed "$LEFT_OUT files" 'left out: an identity of this node is in them'
missed nvml.json 'the script does not ask the driver; gputopo collect does'
manifest
printf '}}\n'
"""
