# shellcheck shell=sh
# Files: how they are read, which of their rows are kept, and how a member of the record is printed.

member() { # $1: path, $2: a JSON value
  scrub "$1"
  if leaks "$scrubbed"; then
    left_out
    return 0
  fi
  escape "$scrubbed"
  printf '%s"%s": %s' "$COMMA" "$escaped" "$2"
  COMMA=', '
}

text() { # $1: path, $2: content
  if leaks "$2"; then
    left_out
    return 0
  fi
  scrub "$2"
  escape "$scrubbed"
  member "$1" "\"$escaped\\n\""
}

link() { # $1: path of a link below the root; where it leads in $target
  target=
  [ -h "$ROOT/$1" ] || return 0
  target=$(readlink "$ROOT/$1") || return 0
  scrub "$target"
  if leaks "$scrubbed"; then
    left_out
    return 0
  fi
  escape "$scrubbed"
  member "root/$1" "{\"link\": \"$escaped\"}"
}

folder() { member "root/$1" '{"folder": true}'; }

missed() { # $1: what, $2: why
  if leaks "$1"; then
    left_out
    return 0
  fi
  scrub "$1"
  escape "$scrubbed"
  what=$escaped
  escape "$2"
  NOT_READ="$NOT_READ${NOT_READ:+, }{\"what\": \"$what\", \"why\": \"$escaped\"}"
}

content() { # a small file below the root, in $said, read without another process; fails where there is none
  [ -f "$ROOT/$1" ] || return 1
  said=
  { while IFS= read -r row || [ -n "$row" ]; do said=$said${said:+$NL}$row; done < "$ROOT/$1"; } 2>/dev/null
  [ -n "$said" ] || whole "$1" # empty, or an error that `read` does not tell from its end
}

whole() { # a file of any size below the root, in $said
  [ -f "$ROOT/$1" ] || return 1
  if said=$(cat "$ROOT/$1" 2>/dev/null); then return 0; fi
  missed "root/$1" 'could not be read'
  return 1
}

content_quietly() {
  [ -f "$ROOT/$1" ] && said=$(cat "$ROOT/$1" 2>/dev/null)
}

file() { # a file that holds a number, a list or a state; the content in $said
  said=
  content "$1" && text "root/$1" "$said"
  return 0
}

below() { # the place that link $1 leads to by $target, inside the root, in $place; $1 itself where it is no link
  place=$1
  [ -n "$target" ] || return 0
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

rows() { # $1: path, $2: kind; those of its rows that keep_KIND keeps
  whole "$1" || return 0
  value=
  all=
  set -f
  IFS=$NL
  for row in $said; do
    IFS=$WORDS
    if keep_"$2" "$row"; then
      all=$all$row$NL
      scrub "$row"
      escape "$scrubbed"
      value="$value$escaped\\n"
    fi
    IFS=$NL
  done
  IFS=$WORDS
  set +f
  if leaks "$all"; then left_out; else member "root/$1" "\"$value\""; fi
}

keep_meminfo() { case $1 in *MemTotal:*) ;; *) return 1 ;; esac; }

keep_status() { case $1 in Cpus_allowed_list:* | Mems_allowed_list:*) ;; *) return 1 ;; esac; }

keep_driver() { # the open module says in brackets who built it
  case $1 in "NVRM version:"*) row=${1%%"("*} ;; *) return 1 ;; esac
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
    processor* | vendor_id* | "cpu family"* | model* | "physical id"* | cpu["$TAB:"]* | machine*) ;;
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
      *) group_part "$part" ;;
    esac
    row=$row$slash$part
    slash=/
  done
  case $group in /) row=$row/ ;; esac
  IFS=$WORDS
}

group_part() { # $1 by what kind of manager made it, in $part
  ending=
  case $1 in *.slice) ending=.slice ;; *.scope) ending=.scope ;; *.service) ending=.service ;; esac
  part=x
  case $1 in
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
  esac
  part=$part$ending
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
