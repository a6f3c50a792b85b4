r"""Names, numbers and addresses of one site replaced by others of the same shape; equal stays equal.

A replacement is an HMAC-SHA256 of the value (RFC 2104) under a salt: one salt for a site keeps
joins over nodes and times, a random one only those inside a bundle. The digits alone are hashed, so
`0C:42:A1:..`, `0c42a1..` and `0c-42-a1-..` stay one address.

    >>> redactor = Redactor(b"site", known=(Known("host", "gpu-17"),))
    >>> redactor.text("gpu-17: GPU-5e7f0b3a-11c2-4d8e-9a70-0123456789ab at 0000:3b:00.0, driver 550.163.01")
    'node-7f7a9fb8: GPU-d7921631-b9a6-3767-a488-a9d8adb526a2 at 0000:3b:00.0, driver 550.163.01'
    >>> redactor.text("0C:42:A1:03:6A:D2") == redactor.text("0c42a1036ad2")
    False
    >>> redactor.text("0C:42:A1:03:6A:D2").replace(":", "").lower() == redactor.text("0c42a1036ad2")
    True
    >>> Redactor(b"site", keep=("uuid",)).text("GPU-5e7f0b3a-11c2-4d8e-9a70-0123456789ab")
    'GPU-5e7f0b3a-11c2-4d8e-9a70-0123456789ab'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gputopo.evidence.redact_leaks import Leaks

# What `--keep` can name. uuid: GPUs, MIG, fabric clusters, pods, claims; id: machine and container ids;
# pod: names of containers, claims and namespaces.
KINDS = ("host", "uuid", "boot", "serial", "mac", "guid", "ip", "user", "id", "pod")
# Names that a node or a person may have and that mean something else everywhere else.
COMMON_WORDS = frozenset(
    [
        "root", "node", "host", "localhost", "nvidia", "intel", "amd", "gpu", "gpus", "cpu", "cpus", "mlx", "numa",
        "sys", "system", "proc", "linux", "kernel", "device", "devices", "class", "driver", "drivers", "module",
        "pci", "bus", "net", "block", "dev", "online", "version", "name", "user", "users", "admin", "ubuntu",
        "debian", "centos", "rocky", "fedora", "data", "test", "server", "machine", "worker", "master", "model",
        "state", "type", "rate", "memory", "topology", "link", "links", "ports", "vendor", "speed", "status",
        "self", "config", "core", "socket", "max", "min", "none", "mode", "lane", "lanes", "switch", "bridge",
        "local", "remote", "active", "virtual", "physical", "processor", "flags", "default", "daemon", "service",
    ]
)
_NOT_VALUES = frozenset(("n/a", "none", "unknown", "null", "[n/a]", "0"))

_H = "[0-9A-Fa-f]"
_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
# enx0c42a1036ad2, rocex0c42a10300036ad2: systemd and rdma-core call devices by their address.
_BEFORE = r"(?:(?<![0-9A-Za-z])|(?<=[0-9a-zA-Z]x)|(?<=0X))"
_PATTERNS = (
    ("home", r"/(?:home|users|Users)/(?!kubernetes/)[^/\s\"':,;]+(?:/[^\s\"':,;)]*)?"),
    ("mail", r"[A-Za-z0-9._+-]+@[A-Za-z0-9][A-Za-z0-9.-]*"),
    ("serial", r"(?i:serial|asset[ _-]?tag)[ _-]?(?i:number|num|no)?\.?[\"']?[ \t]*[:=]"
               r"[ \t]*[\"']?[0-9A-Za-z][\w./-]*"),
    ("login", r"(?<![0-9A-Za-z])(?i:user|username|login)=[\"']?[A-Za-z_][\w.-]*"),
    ("uuid", rf"{_H}{{8}}(?P<dash>[-_]){_H}{{4}}(?P=dash){_H}{{4}}(?P=dash){_H}{{4}}(?P=dash){_H}{{12}}(?!{_H})"),
    ("address6", rf"(?<![0-9A-Za-z:.]){_H}{{1,4}}(?::{_H}{{1,4}}){{7}}(?![0-9A-Za-z:])"),
    ("short6", rf"(?<![0-9A-Za-z:.])(?:{_H}{{1,4}}:){{1,6}}(?::{_H}{{1,4}}){{1,6}}(?![0-9A-Za-z:])"),
    ("guid", rf"(?<![0-9A-Za-z:.]){_H}{{4}}(?::{_H}{{4}}){{3}}(?![0-9A-Za-z:])"),
    ("mac", rf"(?<![0-9A-Za-z:.-]){_H}{{2}}(?P<colon>[:-]){_H}{{2}}(?:(?P=colon){_H}{{2}}){{4,18}}"
            r"(?![:-]?[0-9A-Za-z])"),
    ("dotted", rf"(?<![0-9A-Za-z:.-]){_H}{{4}}\.{_H}{{4}}\.{_H}{{4}}(?![0-9A-Za-z.])"),
    ("address4", rf"(?<![0-9A-Za-z.])(?:{_OCTET}[.]){{3}}{_OCTET}(?![0-9A-Za-z]|\.[0-9])"),
    ("named4", rf"(?<![0-9A-Za-z])ip(?:-{_OCTET}){{4}}(?![0-9A-Za-z])"),
    ("digits", rf"{_BEFORE}(?:{_H}{{128}}|{_H}{{64}}|{_H}{{40}}|{_H}{{32}}|{_H}{{16}}|{_H}{{12}})(?![0-9A-Za-z])"),
)
_SEPARATORS = str.maketrans("", "", ":-_. ")


class Known(NamedTuple):
    """An identity of this node, read where the node itself keeps it."""

    kind: str
    value: str


class Redactor:
    """`text` replaces; `leak` names a kind of which something known is still there."""

    def __init__(self, salt: bytes, keep: Iterable[str] = (), known: Iterable[Known] = ()) -> None:
        self._salt = salt
        kept = frozenset(keep)
        self.keep = frozenset(KINDS) if "all" in kept else kept
        self._digits: dict[str, str] = {}  # hexadecimal identity without separators → its kind
        self._literals: dict[str, str] = {}  # the others, in lower case → kind
        for one in known:
            self._know(one)
        self._memo: dict[str, str] = {}
        self._leaks: Leaks | None = None
        self._pattern = re.compile("|".join([*self._literal_patterns(), *(f"(?P<{n}>{p})" for n, p in _PATTERNS)]))

    def _know(self, one: Known) -> None:
        value = one.value.strip()
        bare = digits_of(value)
        if len(bare) >= 12 and not bare.strip("0123456789abcdef"):
            self._digits.setdefault(bare, one.kind)
        if one.kind == "serial" and len(value) >= 6:
            self._literals.setdefault(value.lower(), "serial")
        elif one.kind in ("host", "user") and len(value) >= 3 and value.lower() not in COMMON_WORDS:
            self._literals.setdefault(value.lower(), one.kind)

    def _literal_patterns(self) -> list[str]:
        """Longest first: a full host name before its first label. A serial with any separators."""
        if not self._literals:
            return []
        values = sorted(self._literals, key=lambda value: (-len(value), value))
        forms = [
            "[-_.: /]?".join(re.findall("[0-9a-z]", value))
            if self._literals[value] == "serial"
            else re.escape(value)
            for value in values
        ]
        return [f"(?P<literal>(?<![0-9A-Za-z])(?i:{'|'.join(form for form in forms if form)})(?![0-9A-Za-z]))"]

    def text(self, text: str) -> str:
        if text in self._memo:
            return self._memo[text]
        done = self._pattern.sub(self._replaced, text)
        if len(text) < 200:  # paths and one-line files come again and again
            self._memo[text] = done
        return done

    def name(self, kind: str, value: str) -> str:
        """A host's or user's name wherever it stands alone: there it is one, whatever it says."""
        if kind in self.keep:
            return value
        return f"{_CALLED[kind]}-{self._hash(value.lower())[:8]}"

    def _replaced(self, match: re.Match[str]) -> str:
        group, value = match.lastgroup or "", match[0]
        if group == "literal":
            return self._literal(value)
        if group == "digits":
            return self._digits_run(value, named=match.string[match.start() - 1 : match.start()] in ("x", "X"))
        return _CHANGES[group](self, value)

    def _literal(self, value: str) -> str:
        kind = self._literals.get(value.lower())
        if kind in ("host", "user"):
            return self.name(kind, value)
        return self._serial(value)

    def _hexadecimal(self, kind: str, value: str) -> str:
        """Every digit by another; zeros and ones throughout mean nothing and stay."""
        bare = digits_of(value)
        if self._digits.get(bare, kind) in self.keep or not bare.strip("0") or not bare.strip("f"):
            return value
        stream = iter(self._hash(bare))
        upper = value != value.lower()
        out = [next(stream) if character in "0123456789abcdefABCDEF" else character for character in value]
        return "".join(out).upper() if upper else "".join(out)

    def _serial(self, value: str) -> str:
        """Digit by digit, letter by letter."""
        bare = digits_of(value)
        if "serial" in self.keep or bare in _NOT_VALUES:
            return value
        stream = iter(self._hash(bare, 2 * len(value)))
        out = []
        for character in value:
            if character.isdigit():
                out.append(str(int(next(stream) + next(stream), 16) % 10))
            elif character.isalpha():
                letter = chr(97 + int(next(stream) + next(stream), 16) % 26)
                out.append(letter if character.islower() else letter.upper())
            else:
                out.append(character)
        return "".join(out)

    def _labelled(self, value: str, change: Callable[[str], str]) -> str:
        """`Serial Number : X`: what follows the label."""
        at = max(value.rfind(":"), value.rfind("=")) + 1
        while value[at : at + 1] in (" ", "\t", '"', "'"):
            at += 1
        said = value[at:]
        return value if said.lower() in _NOT_VALUES else value[:at] + change(said)

    def _address4(self, value: str) -> str:
        if "ip" in self.keep or value.startswith(("127.", "0.", "255.")):
            return value
        digest = self._hash(value)
        return "10." + ".".join(str(int(digest[at : at + 2], 16)) for at in (0, 2, 4))

    def _address6(self, value: str) -> str:
        if "ip" in self.keep:
            return value
        digest = self._hash(full_address(value))
        groups = [f"fd{digest[:2]}", *(digest[at : at + 4] for at in range(2, 30, 4))]
        return ":".join(groups)

    def _mail(self, value: str) -> str:
        user, _, host = value.partition("@")
        if len(host) <= 8 and not host.strip("0123456789abcdef,."):  # soc@0, pcie@141a0000 of a device tree
            return value
        return f"{self.name('user', user)}@{self.name('host', host)}"

    def _home(self, value: str) -> str:
        """What lies in a home folder is as personal as its name."""
        if "user" in self.keep:
            return value
        return f"/home/{self.name('user', value.split('/')[2])}"

    def _digits_run(self, value: str, named: bool) -> str:
        bare = value.lower()
        kind = self._digits.get(bare) or {12: "mac", 16: "guid"}.get(len(bare), "id")
        # A decimal number of 12 or 16 digits is no address, unless it is this node's own or follows an x.
        if bare not in self._digits and len(bare) <= 16 and bare.isdigit() and not named:
            return value
        return self._hexadecimal(kind, value)

    def _hash(self, value: str, length: int = 64) -> str:
        import hmac

        found = ""
        while len(found) < length:
            said = f"{len(found)}:{value}".encode("utf-8", "surrogateescape")
            found += hmac.new(self._salt, said, "sha256").hexdigest()
        return found

    def leak(self, text: str) -> str | None:
        """The kind of a known identity that is in the text, in any spelling."""
        if self._leaks is None:
            from gputopo.evidence.redact_leaks import Leaks

            self._leaks = Leaks(self._digits, self._literals, self.keep)
        return self._leaks.kind_in(text)


_CALLED = {"host": "node", "user": "user", "pod": "name"}
_CHANGES: dict[str, Callable[[Redactor, str], str]] = {
    "home": Redactor._home,
    "mail": Redactor._mail,
    "serial": lambda redactor, value: redactor._labelled(value, redactor._serial),
    "login": lambda redactor, value: redactor._labelled(value, lambda said: redactor.name("user", said)),
    "uuid": lambda redactor, value: redactor._hexadecimal("uuid", value),
    "address6": Redactor._address6,
    "short6": Redactor._address6,
    "guid": lambda redactor, value: redactor._hexadecimal("guid", value),
    "mac": lambda redactor, value: redactor._hexadecimal("mac", value),
    "dotted": lambda redactor, value: redactor._hexadecimal("mac", value),
    "address4": Redactor._address4,
    "named4": lambda redactor, value: redactor.name("host", value),
}


def digits_of(value: str) -> str:
    """Without separators, `0x` and case.

    >>> digits_of("0x0C42:A103"), digits_of("5e7f0b3a-11c2")
    ('0c42a103', '5e7f0b3a11c2')
    """
    return value.strip().lower().removeprefix("0x").translate(_SEPARATORS)


def full_address(value: str) -> str:
    """An IPv6 address as 32 digits, so that its short form is the same address.

    >>> full_address("fe80::ae1f:6bff"), full_address("::1")
    ('fe8000000000000000000000ae1f6bff', '00000000000000000000000000000001')
    """
    left, short, right = value.lower().partition("::")
    first = [group for group in left.split(":") if group]
    last = [group for group in right.split(":") if group]
    middle = ["0"] * (8 - len(first) - len(last)) if short else []
    return "".join(group.zfill(4) for group in [*first, *middle, *last])
