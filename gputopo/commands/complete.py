"""`gputopo __complete WORDS...`: what could stand at the cursor; asked by the shells and by kubectl.

The last word is the one at the cursor, as far as it is typed. The answer is Cobra's protocol, which
kubectl speaks with its plugins (kubernetes, staging/src/k8s.io/kubectl/pkg/cmd/plugin/plugin_completion.go):
a line `VALUE<Tab>DESCRIPTION` each, `:DIRECTIVE` last. Values of `--option=VALUE` come without the option.
What an option takes is known by its metavar, so a new verb completes without a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TextIO

from gputopo.cli import DEFAULT_VERB, OPTION_WORDS, VERBS, below, load

# Cobra's directives: bits of one number.
NO_SPACE, NO_FILES, DIRECTORIES = 2, 4, 16
SAMPLE = "sample:"

Items = tuple[tuple[str, str], ...]  # value, description


class Answer(NamedTuple):
    items: Items = ()
    directive: int = NO_FILES


def answer(words: Sequence[str], stream: TextIO | None) -> int:
    """Prints the answer. Somebody is typing: whatever goes wrong, there is just nothing to offer."""
    try:
        found = at_cursor(words)
    except Exception:
        found = Answer((), 0)
    lines = [f"{value}\t{' '.join(said.split())}" if said else value for value, said in found.items]
    text = "\n".join([*lines, f":{found.directive}"])
    try:
        if stream is not None:
            print(text, file=stream, flush=True)
    except (OSError, ValueError):
        return 1
    return 0


def at_cursor(words: Sequence[str]) -> Answer:
    """What could stand there.

    >>> at_cursor(["expl"])
    Answer(items=(('explain', 'A rule, or all rules.'),), directive=0)
    >>> at_cursor(["inspect", "--output", "j"])
    Answer(items=(('json', ''),), directive=4)
    """
    *before, word = words or ("",)
    if not before:
        return _first(word)
    if before[0] in OPTION_WORDS:
        return Answer(_starting(word, _verbs())) if before == ["help"] else Answer()
    verb, rest = (before[0], before[1:]) if before[0] in VERBS else (DEFAULT_VERB, before)
    command = load(verb)
    if hasattr(command, "list_commands"):  # a verb with verbs of its own: gputopo allocate kubelet
        if not rest:
            return Answer(_starting(word, command.summaries()))
        command, rest = below(command, rest[0]), rest[1:]
        if command is None:
            return Answer()
    return _of_verb(command.params, rest, word)


def _first(word: str) -> Answer:
    """A verb, a source, or an option: of gputopo itself, or of inspect."""
    if word.startswith("-") and "=" not in word:
        own = (("--version", "Print the version and exit."),)
        return Answer((*_starting(word, own), *_of_verb(load(DEFAULT_VERB).params, (), word).items))
    if word.startswith("-"):
        return _of_verb(load(DEFAULT_VERB).params, (), word)
    verbs = _starting(word, (*_verbs(), ("help", "Help for a verb."), ("version", "Print the version and exit.")))
    if not word:
        return Answer(verbs)
    sources = _sources(word)
    return Answer((*verbs, *sources.items), sources.directive)


def _of_verb(parameters: Sequence[Any], before: Sequence[str], word: str) -> Answer:
    options = {name: one for one in parameters if one.param_type_name == "option" for name in one.opts}
    arguments = [one for one in parameters if one.param_type_name == "argument"]
    line = _read(options, before)
    if line.waiting is not None:
        return _values(line.waiting, word)
    if word.startswith("-") and not line.ended and (word != "-" or not arguments):
        name, equals, value = word.partition("=")
        if equals:
            option = options.get(name)
            return _values(option, value) if option is not None and not option.is_flag else Answer()
        return Answer(_option_names(options, line.given, word))
    if not arguments:
        return Answer()
    at = min(line.words, len(arguments) - 1)
    if line.words > at and arguments[at].nargs != -1:
        return Answer()
    if word == "-":
        return Answer((("-", "Standard input."), *_option_names(options, line.given, word)))
    return _values(arguments[at], word)


class _Line(NamedTuple):
    """What stands before the cursor."""

    waiting: Any  # the option whose value comes next, or None
    given: frozenset[str]  # names of options
    words: int  # that are no options
    ended: bool  # by --


def _read(options: dict[str, Any], before: Sequence[str]) -> _Line:
    waiting, given, words, ended = None, set(), 0, False
    for word in before:
        if waiting is not None:
            waiting = None
        elif ended or not word.startswith("-") or word == "-":
            words += 1
        elif word == "--":
            ended = True
        elif word.startswith("--"):
            name, equals, _ = word.partition("=")
            given.add(name)
            option = options.get(name)
            waiting = option if option is not None and not option.is_flag and not equals else None
        else:  # -v, -ojson, -vo json
            for place, letter in enumerate(word[1:], 2):
                given.add("-" + letter)
                option = options.get("-" + letter)
                if option is not None and not option.is_flag:
                    waiting = option if place == len(word) else None
                    break
    return _Line(waiting, frozenset(given), words, ended)


def _option_names(options: dict[str, Any], given: frozenset[str], word: str) -> Items:
    """Long names; a short one only where there is no other. What may be given once is not offered twice."""
    found: dict[str, str] = {}
    for option in options.values():
        if option.multiple or not given.intersection(option.opts):
            long = [name for name in option.opts if name.startswith("--")]
            found.update((name, option.help or "") for name in long or option.opts)
    found["--help"] = "Show this message and exit."
    return _starting(word, found.items())


def _values(parameter: Any, word: str) -> Answer:
    """What an option or an argument takes."""
    choices = getattr(parameter.type, "choices", None)
    if choices:
        return Answer(_starting(word, ((str(choice), "") for choice in choices)))
    for name in parameter.opts:
        if name in WORDS:
            return Answer(_starting(word, ((one, "") for one in WORDS[name])))
    kind = VALUES.get(parameter.metavar or "")
    return kind(word) if kind is not None else Answer((), 0)


def _starting(word: str, items: Iterable[tuple[str, str]]) -> Items:
    return tuple((value, said) for value, said in items if value.startswith(word))


def _listed(word: str, items: Iterable[tuple[str, str]]) -> Answer:
    """A value of a list with commas; those that are there already are not offered again."""
    head, comma, last = word.rpartition(",")
    there = head.split(",")
    found = _starting(last, ((value, said) for value, said in items if value not in there))
    return Answer(tuple((head + comma + value, said) for value, said in found))


def _verbs() -> Items:
    return tuple((verb, summary) for verb, (_, summary) in VERBS.items())


def _sources(word: str) -> Answer:
    """File names, which the shell knows better, and samples."""
    if word.startswith(SAMPLE):
        from gputopo.sample_files import sample_names

        return Answer(_starting(word, ((SAMPLE + name, "") for name in sample_names())))
    if word and SAMPLE.startswith(word):
        return Answer(((SAMPLE, "A shipped sample."),), NO_SPACE)
    return Answer((), 0)


def _formats(word: str) -> Answer:
    from gputopo.parsers.formats import FORMATS

    return Answer(_starting(word, ((row.id, row.what) for row in FORMATS)))


def _rules(word: str) -> Items:
    """Codes, in any case; names for who types one."""
    from gputopo.rules.codes import MODULES, name

    return _starting(word.upper(), ((code, name(code)) for code in MODULES)) or _starting(
        word, ((name(code), code) for code in MODULES)
    )


def _codes(word: str) -> Answer:
    head, comma, last = word.rpartition(",")
    there = head.split(",")
    return Answer(tuple((head + comma + value, said) for value, said in _rules(last) if value not in there))


def _kinds(word: str) -> Answer:
    from gputopo.evidence.redact import KINDS

    return _listed(word, ((kind, "") for kind in (*KINDS, "all")))


def _with(word: str) -> Answer:
    from gputopo.commands.collect import WITH

    return _listed(word, ((what, "") for what in WITH))


def _gates(word: str) -> Answer:
    from gputopo.allocate.dra.features import GATES

    return _listed(word, ((f"{gate}={value}", "") for gate in GATES for value in ("true", "false")))


def _nothing(word: str) -> Answer:
    """A number or a name that only the user knows."""
    return Answer()


# Words that upstream gives these options.
WORDS: dict[str, tuple[str, ...]] = {
    "--topology-manager-policy": ("none", "best-effort", "restricted", "single-numa-node"),
    "--topology-manager-scope": ("container", "pod"),
    "--topology-manager-policy-options": ("prefer-closest-numa-nodes=true", "max-allowable-numa-nodes="),
    "--cpu-manager-policy": ("none", "static"),
    "--memory-manager-policy": ("None", "Static"),
    "--shared-devices-allocation-policy": ("distributed", "packed"),
    "--mig-strategy": ("none", "single", "mixed"),
    "--gpu-partition-policy": ("Honor", "Prefer"),
    "--gpu-scheduler-policy": ("binpack", "spread", "topology-aware"),
}
VALUES: dict[str, Callable[[str], Answer]] = {
    "[SOURCE]...": _sources,
    "A": _sources,
    "B": _sources,
    "[CODE]": lambda word: Answer(_rules(word)),
    "FORMAT": _formats,
    "CODES": _codes,
    "KINDS": _kinds,
    "WHAT": _with,
    "FILE": lambda word: Answer((), 0),
    "FILE...": lambda word: Answer((), 0),
    "PATH": lambda word: Answer((), 0),
    "DIR": lambda word: Answer((), DIRECTORIES),
    "KEY=VALUE": lambda word: Answer(_starting(word, (("sockets=numa", "Each NUMA node is a socket."),))),
    "GATE=VALUE": _gates,
    "FILE|NAME": lambda word: Answer((), 0),
    "FILE|hgx": lambda word: Answer(_starting(word, (("hgx", "The partitions of an HGX board."),)), 0),
    **dict.fromkeys(
        ("SECONDS", "SALT", "N", "N,N,...", "SET", "KEY", "VERSION", "V", "NAME", "SIZE", "MODEL", "KEY=VALUE,...",
         "NS/NAME", "NAMESPACE", "SELECTOR", "K", "P", "GB/s", "HOST:PORT"),
        _nothing,
    ),
}
