"""The shells' side of completion: each asks `gputopo __complete WORDS...` and shows what it answers.

The answer is in Cobra's protocol (github.com/spf13/cobra, site/content/completions/_index.md): a line
`VALUE<Tab>DESCRIPTION` each, and `:DIRECTIVE` last; see commands/complete.py. Beside the values these
scripts also offer file names where the directive allows them, which Cobra's offer only instead of values.
"""

from __future__ import annotations

BASH = r"""# bash completion for gputopo (bash 4.4 or later):  source <(gputopo completion bash)

_gputopo() {
    local program=$1 line=${COMP_LINE:0:COMP_POINT} rest word current out directive cut="" i
    local -a words=() lines=()
    [[ $program == '~/'* ]] && program=$HOME/${program:2}
    # Bash cuts words at = and : as well; what no blank stands between is one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        rest=${line#"${line%%[![:space:]]*}"}
        word=${COMP_WORDS[i]}
        ((i == COMP_CWORD)) && word=$rest
        if ((i == 0)) || [[ $rest != "$line" ]]; then
            words+=("$word")
        else
            words[${#words[@]}-1]+=$word
        fi
        line=${rest#"$word"}
    done
    COMPREPLY=()
    out=$("$program" __complete "${words[@]:1}" 2>/dev/null) || return 0
    directive=${out##*:}
    [[ $directive =~ ^[0-9]+$ ]] || return 0
    out=${out%:*}
    [[ -n $out ]] && mapfile -t lines <<<"${out%$'\n'}"

    # The values of --option=VALUE come without the option; readline replaces what follows the last = or :.
    current=${words[${#words[@]}-1]}
    [[ $current == -*=* ]] && current=${current#*=}
    [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && cut=${current%"${current##*:}"}
    [[ $COMP_WORDBREAKS == *=* && ${current#"$cut"} == *=* ]] && cut=${current%"${current##*=}"}

    if ((directive & 16)); then
        compopt -o dirnames
    elif ((!(directive & 4) && ${#lines[@]} == 0)); then
        compopt -o default
    elif ((!(directive & 4))); then
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    ((directive & 2)) && compopt -o nospace
    _gputopo_describe "$cut"
}

# Adds `lines` to COMPREPLY, with their descriptions when bash only lists them.
_gputopo_describe() {
    local cut=$1 line value width=0
    if ((${#lines[@]} < 2 || ${#COMPREPLY[@]} > 0)) || [[ $COMP_TYPE != 63 && $COMP_TYPE != 33 && $COMP_TYPE != 64 ]]
    then
        for line in "${lines[@]}"; do
            value=${line%%$'\t'*}
            COMPREPLY+=("${value#"$cut"}")
        done
        return
    fi
    for line in "${lines[@]}"; do
        value=${line%%$'\t'*}
        value=${value#"$cut"}
        ((${#value} > width)) && width=${#value}
    done
    for line in "${lines[@]}"; do
        value=${line%%$'\t'*}
        value=${value#"$cut"}
        [[ $line == *$'\t'* ]] && printf -v value "%-${width}s  (%s)" "$value" "${line#*$'\t'}"
        COMPREPLY+=("${value:0:$((${COLUMNS:-80} - 1))}")
    done
}

complete -F _gputopo gputopo kubectl-gputopo
"""

ZSH = r"""#compdef gputopo kubectl-gputopo
# zsh completion for gputopo:  source <(gputopo completion zsh), after compinit; or save it as _gputopo in fpath

_gputopo() {
    local program=${(Q)words[1]} line value directive found=1
    local -a lines described space
    [[ $program == \~/* ]] && program=$HOME/${program#\~/}
    lines=("${(@f)$("$program" __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    directive=${lines[-1]#:}
    [[ $directive == <-> ]] || return 1
    lines[-1]=()
    for line in $lines; do
        value=${line%%$'\t'*}
        value=${value//:/\\:}
        [[ $line == *$'\t'* ]] && value+=:${line#*$'\t'}
        described+=("$value")
    done
    [[ $PREFIX == -*=* ]] && compset -P '*='
    (( directive & 2 )) && space=(-S '')
    if (( $#described )); then
        _describe gputopo described "${space[@]}" && found=0
    fi
    if (( directive & 16 )); then
        _files -/ && found=0
    elif (( ! (directive & 4) )); then
        _files && found=0
    fi
    return found
}

if [[ $funcstack[1] == _gputopo ]]; then
    _gputopo
else
    compdef _gputopo gputopo kubectl-gputopo
fi
"""

FISH = r"""# fish completion for gputopo:  gputopo completion fish > ~/.config/fish/completions/gputopo.fish

function __gputopo_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
    set -e words[1]
    set -l lines ($program __complete $words "$current" 2>/dev/null)
    string match -qr '^:[0-9]+$' -- "$lines[-1]"
    or return
    set -l directive (string replace ':' '' -- $lines[-1])
    set -e lines[-1]
    # The values of --option=VALUE come without the option.
    set -l option (string match -r '^-[^=]*=' -- "$current")
    for line in $lines
        printf '%s\n' "$option$line"
    end
    set -l path (string replace -r '^-[^=]*=' '' -- "$current")
    if test (math "floor($directive / 16) % 2") -eq 1
        for line in (__fish_complete_directories "$path" '')
            printf '%s\n' "$option$line"
        end
    else if test (math "floor($directive / 4) % 2") -eq 0
        for line in (__fish_complete_path "$path")
            printf '%s\n' "$option$line"
        end
    end
end

complete -c gputopo -f -a '(__gputopo_complete)'
complete -c kubectl-gputopo -f -a '(__gputopo_complete)'
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
