# shellcheck shell=sh
# Values: how they are written as JSON, and how those that name this node or its people are replaced.
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
DIGITS=
HOSTS=
HARDWARE=
COMMON=' @COMMON@ '
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

number() { # $1: hexadecimal digits in lower case; $shaped: their replacement, 32 digits
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

scrub() { # $1 with its UUIDs and device names made of an address replaced, in $scrubbed
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
    rest=$after
    dash=${found#????????}
    dash=${dash%"${dash#?}"}
    case $found in *[!-_0]*) ;; *) scrubbed=$scrubbed$before$found; continue ;; esac
    bare "$found"
    number "$plain"
    cut8 "$shaped"
    a=$first
    cut8 "$others"
    scrubbed=$scrubbed$before$a$dash${first%????}$dash${first#????}
    cut8 "$others"
    scrubbed=$scrubbed$dash${first%????}$dash${first#????}$others
  done
  scrubbed=$scrubbed$rest
  case $scrubbed in *[a-z]x$H12*) by_address ;; esac
  for name_of in $HOSTS; do # once in each text; what holds it more often is left out
    case " $scrubbed " in
      *[!0-9A-Za-z]"$name_of"[!0-9A-Za-z]*) scrubbed=${scrubbed%%"$name_of"*}node-$R${scrubbed#*"$name_of"} ;;
    esac
  done
}

by_address() { # enx0c42a1036ad2, rocex0c42a10300036ad2: devices called by their MAC or GUID
  rest=$scrubbed
  scrubbed=
  while :; do
    case $rest in *x$H12*) ;; *) break ;; esac
    # shellcheck disable=SC2295
    before=${rest%%x$H12*}x
    rest=${rest#"$before"}
    run=${rest%%[!0-9a-fA-F]*}
    rest=${rest#"$run"}
    scrubbed=$scrubbed$before
    case ${#run} in
      12) kind=mac ;;
      16) kind=guid ;;
      *) kind=id ;;
    esac
    if kept $kind || [ ${#run} -gt 32 ]; then
      scrubbed=$scrubbed$run
    else
      bare "$run"
      number "$plain"
      while [ ${#shaped} -gt ${#run} ]; do shaped=${shaped#?}; done
      scrubbed=$scrubbed$shaped
    fi
  done
  scrubbed=$scrubbed$rest
}

bare() { # $1 without separators, its A to F in lower case, in $plain
  plain=
  left=$1
  while [ -n "$left" ]; do
    part=${left%%[-_.:\ ]*}
    plain=$plain$part
    [ "$part" = "$left" ] && break
    left=${left#*[-_.:\ ]}
  done
  for letter in A:a B:b C:c D:d E:e F:f; do
    while :; do
      case $plain in *"${letter%:*}"*) ;; *) break ;; esac
      plain=${plain%%"${letter%:*}"*}${letter#*:}${plain#*"${letter%:*}"}
    done
  done
}

lower() { printf '%s' "$1" | tr '[:upper:]' '[:lower:]' 2>/dev/null || printf '%s' "$1"; }

hardware() { # the words in the names of machine and GPUs: a host called h100 tells nothing where they stand
  for name in product_name sys_vendor; do
    content_quietly "sys/class/dmi/id/$name" && HARDWARE="$HARDWARE$said "
  done
  for entry in "$ROOT"/proc/driver/nvidia/gpus/*; do
    content_quietly "${entry#"$ROOT"/}/information" || break
    said=${said%%"IRQ:"*}
    HARDWARE="$HARDWARE${said#*:} "
    break
  done
  HARDWARE=$(lower "$HARDWARE" | tr '\t\n-' '   ' 2>/dev/null)
}

is_common() { # whether $1 is a word that has other meanings
  case "$COMMON$HARDWARE " in *" $(lower "$1") "*) ;; *) return 1 ;; esac
}

remember() { # $1: kind, $2: an identity of this node, which nothing that is printed may hold
  kept "$1" && return 0
  case $2 in '' | ?? | ? | *[!\ -~]*) return 0 ;; esac
  case $2 in *[!0:.-]*) ;; *) return 0 ;; esac
  case $2 in [Nn]one | [Uu]nknown | "To be filled"* | [Dd]efault* | "Not Spec"* | N/A) return 0 ;; esac
  case $2 in *[Ss]erial*[Nn]umber* | *[Aa]sset*[Tt]ag*) return 0 ;; esac
  case $1 in host | user) is_common "$2" && return 0 ;; esac
  [ "$1" != host ] || HOSTS="$HOSTS $2"
  KNOWN="$KNOWN$2$NL"
  other=$(lower "$2") && KNOWN="$KNOWN$other$NL"
  other=$(printf '%s' "$2" | tr '[:lower:]' '[:upper:]' 2>/dev/null) && KNOWN="$KNOWN$other$NL"
  bare "${2#0x}"
  case $plain in ????????????*) ;; *) return 0 ;; esac
  case $plain in *[!0-9a-f]*) ;; *) DIGITS="$DIGITS$plain$NL" ;; esac
}

remember_each() { # $1: kind, then files
  kind=$1
  shift
  for entry in "$@"; do
    [ -f "$entry" ] || continue
    said=$(cat "$entry" 2>/dev/null) && remember "$kind" "$said"
  done
  return 0
}

remember_host() { # with and without its domain
  case $1 in '' | localhost | localhost.localdomain | '(none)' | node | host | *[!-._0-9A-Za-z]*) return 0 ;; esac
  remember host "$1"
  case $1 in *.*) remember host "${1%%.*}" ;; esac
  case $1 in *.*.*) remember host "${1#*.}" ;; esac
}

identities() { # the names and numbers that must not leave this node, from where they are kept
  hardware
  remember_each mac "$ROOT"/sys/class/net/*/address
  remember_each guid "$ROOT"/sys/class/infiniband/*/*_guid
  remember_each serial "$ROOT"/sys/class/nvme/*/serial "$ROOT"/sys/firmware/devicetree/base/serial-number
  for name in product_serial board_serial chassis_serial board_asset_tag chassis_asset_tag product_uuid; do
    remember_each serial "$ROOT/sys/class/dmi/id/$name"
  done
  remember_each id "$ROOT/etc/machine-id" "$ROOT/var/lib/dbus/machine-id"
  content_quietly proc/sys/kernel/hostname && remember_host "$said"
  content_quietly etc/hostname && remember_host "$said"
  [ -n "$ROOT" ] || for name in "${USER-}" "${LOGNAME-}" "${SUDO_USER-}"; do remember user "$name"; done
  content_quietly etc/passwd || return 0
  set -f
  IFS=$NL
  for row in $said; do
    login=${row%%:*}
    row=${row#*:*:}
    case ${row%%:*} in
      [1-9][0-9][0-9][0-9] | [1-5][0-9][0-9][0-9][0-9]) IFS=$WORDS; remember user "$login"; IFS=$NL ;;
    esac
  done
  IFS=$WORDS
  set +f
}

leaks() { # whether an identity stands in $1, as a word or as digits
  set -f
  IFS=$NL
  for identity in $KNOWN; do
    case " $1 " in *[!0-9A-Za-z]"$identity"[!0-9A-Za-z]*) IFS=$WORDS; set +f; return 0 ;; esac
  done
  for identity in $DIGITS; do
    case $1 in *"$identity"*) IFS=$WORDS; set +f; return 0 ;; esac
  done
  IFS=$WORDS
  set +f
  return 1
}

left_out() { LEFT_OUT=$((LEFT_OUT + 1)); }
