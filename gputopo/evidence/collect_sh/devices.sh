# shellcheck shell=sh
# Devices: PCI functions, network and RDMA devices, what the drivers list.

config_space() { # what kind of port this is, its link; where root reads on, how peer traffic is routed
  command -v od >/dev/null 2>&1 || return 0
  [ -r "$ROOT/$1/config" ] || return 0
  # shellcheck disable=SC2046 # the bytes are words
  set -- "$1" $(od -An -v -tx1 -N4096 "$ROOT/$1/config" 2>/dev/null)
  [ $# -gt 64 ] || return 0
  function=$1
  shift
  total=$#
  capabilities=
  [ $total -lt 260 ] || routing "$@"
  kept_bytes=
  while [ $# -gt 0 ] && [ $((total - $#)) -lt 256 ]; do
    kept_bytes=$kept_bytes$1
    shift
  done
  at=256
  while [ -n "$capabilities" ]; do
    next=
    for one in $capabilities; do
      if [ -z "$next" ] || [ "${one%%:*}" -lt "${next%%:*}" ]; then next=$one; fi
    done
    others=
    for one in $capabilities; do
      [ "$one" = "$next" ] || others="$others $one"
    done
    capabilities=$others
    [ "${next%%:*}" -ge $at ] || continue
    zeros $((${next%%:*} - at))
    kept_bytes=$kept_bytes$zeros${next#*:}
    others=${next#*:}
    at=$((${next%%:*} + ${#others} / 2))
  done
  [ $total -le $at ] || { zeros $((total - at)) && kept_bytes=$kept_bytes$zeros; }
  member "root/$function/config" "{\"hex\": \"$kept_bytes\"}"
}

zeros() { # $1 bytes of zero, in hexadecimal
  zeros=
  [ "$1" -eq 0 ] || zeros=$(printf '%0*d' $(($1 * 2)) 0)
}

routing() { # the extended capabilities among the bytes "$@" as PLACE:BYTES; of a serial number its header only
  place=256
  steps=0
  set_of=
  while [ $place -ge 256 ] && [ $place -le $(($# - 4)) ] && [ $steps -lt 480 ]; do
    case "$capabilities " in *" $place:"*) break ;; esac
    eval "set_of=\${$((place + 1))}\${$((place + 2))}\${$((place + 3))}\${$((place + 4))}"
    case $set_of in
      0d00* | 0f00*) # access control (ACS), address translation (ATS)
        [ $place -gt $(($# - 8)) ] ||
          eval "set_of=$set_of\${$((place + 5))}\${$((place + 6))}\${$((place + 7))}\${$((place + 8))}"
        ;;
    esac
    capabilities="$capabilities $place:$set_of"
    eval "place=\$(((0x\${$((place + 4))}\${$((place + 3))} >> 4) & 0xffc))"
    steps=$((steps + 1))
  done
}

pci_function() { # $1: an entry of sys/bus/pci/devices, a link or not
  link "$1"
  below "$1"
  function=$place
  file "$function/vendor"
  vendor=$said
  file "$function/class"
  class=$said
  case $vendor:$class in 0x10de:0x03* | 0x10de:0x12* | 0x10de:0x0b40*) GPUS=true ;; esac
  for name in device numa_node local_cpus local_cpulist current_link_speed current_link_width \
    max_link_speed max_link_width; do
    file "$function/$name"
  done
  link "$function/driver"
  link "$function/physfn"
  for entry in "$ROOT/$function"/virtfn*; do
    link "${entry#"$ROOT"/}"
  done
  link "$function/iommu_group"
  if [ -n "$target" ]; then
    file "sys/kernel/iommu_groups/${target##*/}/type"
  fi
  for entry in "$ROOT/$function"/net/*; do # those with a link in the class come with it
    [ -d "$entry" ] && [ ! -h "$ROOT/sys/class/net/${entry##*/}" ] && net_device "${entry#"$ROOT"/}"
  done
  for entry in "$ROOT/$function"/infiniband/*; do
    [ -d "$entry" ] && [ ! -h "$ROOT/sys/class/infiniband/${entry##*/}" ] && rdma_device "${entry#"$ROOT"/}"
  done
  case $class in 0x0604* | 0x03* | 0x12* | 0x0b40* | 0x02* | 0x0c06* | 0x0108* | 0x068*) config_space "$function" ;; esac
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
  [ -d "$ROOT/$1/bonding" ] || return 0
  file "$1/bonding/mode"
  file "$1/bonding/slaves"
  for slave in "$ROOT/$1"/lower_*; do
    link "${slave#"$ROOT"/}"
  done
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
    below "$entry"
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

devices() {
  [ -d "$ROOT/sys/bus/pci/devices" ] && folder sys/bus/pci/devices
  for device in "$ROOT"/sys/bus/pci/devices/*; do
    [ -d "$device" ] || [ -h "$device" ] || continue
    pci_function "${device#"$ROOT"/}"
  done
  class_devices sys/class/net net_device
  class_devices sys/class/infiniband rdma_device
  entries sys/kernel/iommu_groups
  entries sys/kernel/mm/memory_peers
  entries sys/module
  file sys/module/nvidia/version
}
