"""The specification of a node, read from plain data: what must be there, by shape.

The keys are in KEYS, with the field of the document that each is about. A key that is none, or a value of the wrong
kind, raises WrongSpec with the path of it; who has the file knows line and column.

    >>> spec = read({"gpus": {"count": 8, "nvlinks": 18}, "system": {"driver": ">=550"}})
    >>> spec.expects["gpus.count"].options, spec.expects["system.driver"].options
    ((8,), ('>=550',))
    >>> read({"gpus": {"cuont": 8}})
    Traceback (most recent call last):
    gputopo.checks.spec.WrongSpec: no such key: gpus.cuont (did you mean count?)
    >>> read({"gpus": {"count": "eight"}})
    Traceback (most recent call last):
    gputopo.checks.spec.WrongSpec: gpus.count takes a whole number, not 'eight'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gputopo.checks.expect import Expect, is_range, range_problem

KIND = "NodeSpec"
WHOLE, NUMBER, TEXT, VERSION, NEAREST, LEVEL = "a whole number", "a number", "a text", "a version", "e.g. 1 at PIX", (
    "a level: NV18, PIX, PXB, PHB, NODE, SYS"
)  # fmt: skip
_LEVEL_NAMES = ("PIX", "PXB", "PHB", "NODE", "SYS")
_MOST = 512  # alternatives of one value, entries of one list

# section → key → what it takes
KEYS: dict[str, dict[str, str]] = {
    "gpus": {
        "count": WHOLE, "name": TEXT, "nvlinks": WHOLE, "nvlinksVia": TEXT, "pcieWidth": WHOLE,
        "pcieGeneration": WHOLE, "nearestNics": NEAREST, "fabricState": TEXT,
    },
    "nics": {"count": WHOLE, "rateGbps": NUMBER, "linkLayer": TEXT, "state": TEXT, "pcieWidth": WHOLE},
    "numaNodes": {"count": WHOLE, "cpus": WHOLE, "gpus": WHOLE, "nics": WHOLE},
    "packages": {"count": WHOLE, "cpus": WHOLE, "gpus": WHOLE, "nics": WHOLE, "numaNodes": WHOLE},
    "nvswitches": {"count": WHOLE},
    "nvme": {"count": WHOLE},
    "pairs": {f"{kind}{what}": LEVEL for kind in ("GPU-GPU", "GPU-NIC", "NIC-NIC") for what in ("", " pcie")},
    "system": {"product": TEXT, "kernel": VERSION, "driver": VERSION, "cuda": VERSION},
}  # fmt: skip
_HEAD = ("apiVersion", "kind", "name", "description")
_OTHER = ("kubelet", "findings", "wiring", "identity")
_SEVERITIES = ("error", "warning", "info", "never")

Path = tuple["str | int", ...]


class WrongSpec(ValueError):
    """`path`: of the value; `key`: whether the key is what is wrong."""

    def __init__(self, what: str, path: Path, key: bool = False) -> None:
        super().__init__(what)
        self.path = path
        self.key = key


class Spec(NamedTuple):
    """`expects`: "gpus.count" → Expect. `wiring` and `identity` are plain data, see wiring.py."""

    name: str = ""
    expects: Mapping[str, Expect] = {}
    kubelet: Mapping[str, Any] = {}
    fail_on: str | None = None
    allow: tuple[str, ...] = ()  # codes
    wiring: Mapping[str, Any] | None = None
    identity: Mapping[str, str] = {}  # GPU or NIC → PCI address


def read(body: Mapping[str, Any]) -> Spec:
    """Raises WrongSpec."""
    kind = body.get("kind", KIND)
    if kind != KIND:
        raise WrongSpec(f"this is a {str(kind)[:60]}, not a {KIND}", ("kind",))
    for key in body:
        if key not in (*_HEAD, *KEYS, *_OTHER):
            raise WrongSpec(_no_key("", key, (*KEYS, *_OTHER, *_HEAD)), (key,), key=True)
    expects: dict[str, Expect] = {}
    for section in KEYS:
        for key, value in _mapping(body, section).items():
            if key not in KEYS[section]:
                raise WrongSpec(_no_key(section, key, tuple(KEYS[section])), (section, key), key=True)
            expects[f"{section}.{key}"] = _expect(value, KEYS[section][key], (section, key))
    fail_on, allow = _findings(_mapping(body, "findings"))
    name = body.get("name", "")
    if not isinstance(name, str):
        raise WrongSpec("name takes a text", ("name",))
    return Spec(
        name, expects, _kubelet(_mapping(body, "kubelet")), fail_on, allow,
        _mapping(body, "wiring") or None, _identity(_mapping(body, "identity")),
    )  # fmt: skip


def _mapping(body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = body.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise WrongSpec(f"{key} takes keys and values, not {_shown(found)}", (key,))
    return found


def _expect(value: Any, takes: str, path: Path) -> Expect:
    if isinstance(value, dict):
        if not value or len(value) > _MOST:
            raise WrongSpec(f"{_dotted(path)}: no values, or more than {_MOST}", path)
        return Expect(shares=tuple(_shares(value, takes, path)))
    if not isinstance(value, list):
        return Expect((_option(value, takes, path),))
    if not value or len(value) > _MOST:
        raise WrongSpec(f"{_dotted(path)}: no values, or more than {_MOST}", path)
    return Expect(tuple(_option(one, takes, (*path, place)) for place, one in enumerate(value)))


def _shares(value: Mapping[str, Any], takes: str, path: Path) -> Iterator[tuple[str | int | float, int]]:
    """`{400: 8, 100: 2}`. Keys are texts by now: a number is read back."""
    if path[-1] == "count":
        raise WrongSpec(f"{_dotted(path)} takes {takes}", path)
    for key, count in value.items():
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= 1_000_000:
            what = f"how many have {key[:40]}? A whole number, not {_shown(count)}"
            raise WrongSpec(f"{_dotted(path)}: {what}", (*path, key))
        yield _option(_as_number(key) if takes in (WHOLE, NUMBER) else key, takes, (*path, key)), count


def _as_number(text: str) -> Any:
    try:
        return int(text[:20]) if text.lstrip("-").isdigit() else float(text)
    except ValueError:
        return text


def _option(value: Any, takes: str, path: Path) -> str | int | float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if takes == WHOLE and number and value == int(value) >= 0:
        return int(value)
    if takes == NUMBER and number and value == value and abs(value) < 1e12:
        return float(value)
    if takes == VERSION and (number or isinstance(value, str)):
        problem = range_problem(str(value)) if is_range(str(value)) else None
        if problem:
            raise WrongSpec(f"{_dotted(path)}: {problem}", path)
        return str(value)
    if isinstance(value, str) and value and takes in (TEXT, NEAREST, LEVEL) and _reads(value, takes):
        return " ".join(value.split()) if takes == NEAREST else value
    raise WrongSpec(f"{_dotted(path)} takes {takes}, not {_shown(value)}", path)


def _reads(value: str, takes: str) -> bool:
    """
    >>> _reads("2 at PXB", NEAREST), _reads("2 PXB", NEAREST), _reads("NV*", LEVEL), _reads("NVL", LEVEL)
    (True, False, True, False)
    """
    if takes == NEAREST:
        words = value.split()
        plain = len(words) == 3 and words[0].isdigit() and words[1] == "at" and words[2] in _LEVEL_NAMES
        return plain or value == "none"
    if takes == LEVEL:
        return value in _LEVEL_NAMES or (value.startswith("NV") and (value[2:].isdigit() or value[2:] == "*"))
    return True


def _findings(said: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    for key in said:
        if key not in ("failOn", "allow"):
            raise WrongSpec(_no_key("findings", key, ("failOn", "allow")), ("findings", key), key=True)
    fail_on, allow = said.get("failOn"), said.get("allow", [])
    if fail_on is not None and fail_on not in _SEVERITIES:
        what = f"findings.failOn takes {', '.join(_SEVERITIES)}, not {_shown(fail_on)}"
        raise WrongSpec(what, ("findings", "failOn"))
    if not isinstance(allow, list) or not all(isinstance(one, str) for one in allow) or len(allow) > _MOST:
        raise WrongSpec("findings.allow takes a list of codes: [GT031, GT113]", ("findings", "allow"))
    return fail_on, tuple(allow)


def _kubelet(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keys of a KubeletConfiguration."""
    if not said:
        return {}
    from gputopo.allocate.kubelet.config_keys import keys

    known = [key for key in keys() if "." not in key and "[" not in key]
    for key in said:
        if key not in known:
            raise WrongSpec(_no_key("kubelet", key, tuple(known)), ("kubelet", key), key=True)
    return said


def _identity(said: Mapping[str, Any]) -> Mapping[str, str]:
    for id, address in said.items():
        if not isinstance(address, str):
            raise WrongSpec(f"identity.{id[:40]} takes a PCI address, not {_shown(address)}", ("identity", id))
    return said


def _no_key(section: str, key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key[:60], known, 1)
    place = f"{section}.{key[:60]}" if section else key[:60]
    return f"no such key: {place} ({f'did you mean {near[0]}?' if near else 'known: ' + ', '.join(known[:12])})"


def _dotted(path: Path) -> str:
    return ".".join(str(step)[:40] for step in path if isinstance(step, str))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
