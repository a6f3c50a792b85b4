"""Bytes a little wrong: what terminals, pastes, disks and strangers do to a text.

The same random numbers give the same bytes, so a case is named by parser, seed and number.

>>> from random import Random
>>> mutate(b"GPU0 X NV18\\n", Random(7), ()) == mutate(b"GPU0 X NV18\\n", Random(7), ())
True
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

LARGEST = 1 << 18  # bytes of a mutated input
_TOKEN = re.compile(rb"[^\s<>\"'=,;|()\[\]{}]+")
_NUMBER = re.compile(rb"\d+")
_BLANKS = re.compile(rb"[ \t]+")

TOKENS: tuple[bytes, ...] = (
    b"", b"0", b"-1", b"1", b"255", b"65536", b"4294967295", b"4294967296", b"18446744073709551615",
    b"9" * 30, b"9" * 5000, b"0" * 300 + b"1", b"1e309", b"-1e309", b"1.5", b"nan", b"inf", b"0x", b"0xffffffff",
    b"0x" + b"f" * 64, b"N/A", b"[N/A]", b"None", b"null", b"true", b"Unknown", b"X", b"SYS", b"NODE", b"NV0", b"NV4",
    b"NV" + b"9" * 20, b"PIX", b"SOC", b"GPU0", b"GPU1", b"GPU99999999999", b"GPU-1", b"NIC0", b"mlx5_0", b"-", b"--",
    b"*",
    b"0-4294967295", b"0-99999999999999", b"5-0", b"0-", b"-0", b"0,0,0", b"0-3:1/2", b"0,2-17", b"ffffffff,ffffffff",
    b"0000:0f:00.0", b"00000000:0F:00.0", b"0000:ff:1f.7", b"ffffffff:ff:1f.7", b"0000:00:20.8", b"0f:00.0", b"::.",
    b"GPU-00000000-0000-0000-0000-000000000000", b"00000000-0000-0000-0000-000000000000", b"32766", b"65535",
    b"8.0 GT/s PCIe", b"2.5", b"16.0", b"x16", b"x0", b"255.255", b"../../../etc/passwd", b"/", b".", b"..", b"%s%n",
    b"\\x00",
    b"&lt;", b"&#0;", b"&a;", b"<!--", b"-->", b"<![CDATA[", b"]]>", b"<?xml?>", b"</", b"/>", b"{", b"}", b"[", b"]",
    b":", b'"',
)  # fmt: skip
SIGNS: tuple[bytes, ...] = (
    *(sign.encode("utf-8", "surrogatepass") for sign in (
        "\u202e", "\u200b", "\ufeff", "\u00a0", "\u2028", "\u0085", "\u2502", "\u00b2", "\u0663", "\uff10", "\u0966",
        "\u2460",
        "e\u0301", "\u6a5f", "\U0001f600", "\ud800", "\ufffd", "\u00df", "\u0130", "\x1b[31m", "\x1b[2J",
        "\x1b]0;t\x07", "\r",
        "\x0b", "\x0c", "\x07", "\x08", "\x1c", "\x1d", "\x1e", "\x7f", "\t", "  ", "\n", "\r\n", "\n\n\n",
    )),
    b"\xff", b"\xc3", b"\x80", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80",
)  # fmt: skip


def mutate(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """One to a dozen changes, mostly few; `others` are texts to take parts from."""
    changes = 1
    while changes < 12 and random.random() < 0.55:
        changes += 1
    if data[:1] in (b"{", b"[") and random.random() < 0.6:
        data = _mutate_json(data, random)
    for _ in range(changes):
        data = random.choice(_WAYS)(data, random, others)
        if len(data) > LARGEST:
            data = data[:LARGEST]
    if random.random() < 0.004:
        data = _many_times(data, random)
    return data


def _span(data: bytes, random: Random, most: int = 64) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.randint(1, most))


def _flip(data: bytes, random: Random, _: object) -> bytes:
    changed = bytearray(data)
    for _count in range(random.randint(1, 4)):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _delete(data: bytes, random: Random, _: object) -> bytes:
    start, end = _span(data, random)
    return data[:start] + data[end:]


def _double(data: bytes, random: Random, _: object) -> bytes:
    start, end = _span(data, random, 400)
    return data[:end] + data[start:end] * random.randint(1, 4) + data[end:]


def _put_sign(data: bytes, random: Random, _: object) -> bytes:
    start = random.randrange(len(data) + 1)
    return data[:start] + random.choice(SIGNS) + data[start:]


def _cut(data: bytes, random: Random, _: object) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] if random.random() < 0.7 else data[place:]


def _graft(data: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    if not others:
        return data
    other = random.choice(others)
    start, end = _span(other, random, 2_000)
    place = random.randrange(len(data) + 1)
    return data[:place] + other[start:end] + data[place:]


def _at_token(change: Callable[[bytes, Random], bytes], find: re.Pattern[bytes] = _TOKEN) -> Callable[..., bytes]:
    def way(data: bytes, random: Random, _: object) -> bytes:
        found = find.search(data, random.randrange(len(data) + 1)) or find.search(data)
        if found is None:
            return data
        return data[: found.start()] + change(found[0], random) + data[found.end() :]

    return way


def _number(token: bytes, random: Random) -> bytes:
    if len(token) > 18:
        return b"7"
    number = int(token)
    return str(
        random.choice((number + 1, number - 1, number * 10, -number, number << 32, 10 ** random.randint(5, 400)))
    ).encode()


def _glue(data: bytes, random: Random, _: object) -> bytes:
    """Blanks lost, between two words or in a whole line."""
    return _at_token(lambda token, random: random.choice((b"", b" ", b"\t", b"        ")), _BLANKS)(data, random, None)


def _all_blanks(data: bytes, random: Random, _: object) -> bytes:
    return _BLANKS.sub(random.choice((b" ", b"\t", b"  ", b" | ", b",")), data)


def _swap_tokens(data: bytes, random: Random, _: object) -> bytes:
    found = list(_TOKEN.finditer(data, *_window(data, random)))
    if len(found) < 2:
        return data
    one, two = sorted(random.sample(found, 2), key=lambda match: match.start())
    return b"".join(
        (data[: one.start()], two[0], data[one.end() : two.start()], one[0], data[two.end() :])
    )  # fmt: skip


def _window(data: bytes, random: Random) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, start + 2_000


def _at_lines(change: Callable[[list[bytes], Random], None]) -> Callable[..., bytes]:
    def way(data: bytes, random: Random, _: object) -> bytes:
        lines = data.split(b"\n")
        change(lines, random)
        return b"\n".join(lines)

    return way


def _swap_lines(lines: list[bytes], random: Random) -> None:
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]


def _drop_lines(lines: list[bytes], random: Random) -> None:
    start = random.randrange(len(lines))
    del lines[start : start + random.choice((1, 1, 1, 2, 5, 20))]


def _double_lines(lines: list[bytes], random: Random) -> None:
    start = random.randrange(len(lines))
    part = lines[start : start + random.choice((1, 1, 2, 10, 50))]
    place = random.choice((start, random.randrange(len(lines) + 1)))
    lines[place:place] = part * random.choice((1, 1, 1, 2, 30))


def _cut_line(lines: list[bytes], random: Random) -> None:
    place = random.randrange(len(lines))
    lines[place] = lines[place][: random.randrange(len(lines[place]) + 1)]


def _join_lines(lines: list[bytes], random: Random) -> None:
    place = random.randrange(len(lines))
    lines[place : place + 2] = [b"".join(lines[place : place + 2])]


def _wrap(lines: list[bytes], random: Random) -> None:
    """As a terminal or a mail program breaks them."""
    width = random.choice((20, 72, 80, 100))
    lines[:] = [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]


def _before_lines(lines: list[bytes], random: Random) -> None:
    words = random.choice(
        (b"> ", b"    ", b"\t", b"node7: ", b"[1,0]<stdout>:", b"2026-01-02T03:04:05Z ", b"| ", b"# ")
    )
    lines[:] = [words + line for line in lines]


def _carriage_returns(data: bytes, random: Random, _: object) -> bytes:
    return data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n")))


def _many_times(data: bytes, random: Random) -> bytes:
    """A part so often that what is slow in its square takes seconds."""
    start, end = _span(data, random, random.choice((8, 80, 800)))
    part = data[start:end] or b"GPU0 X "
    return data[:start] + part * (LARGEST // len(part) // random.choice((1, 4))) + data[end:]


_WAYS: tuple[Callable[[bytes, Random, Sequence[bytes]], bytes], ...] = (
    _flip, _delete, _double, _put_sign, _put_sign, _cut, _graft,
    _at_token(lambda token, random: random.choice(TOKENS)),
    _at_token(lambda token, random: random.choice(TOKENS)),
    _at_token(lambda token, random: token[: random.randrange(len(token) + 1)]),
    _at_token(lambda token, random: token + random.choice(TOKENS)),
    _at_token(lambda token, random: token.swapcase()),
    _at_token(_number, _NUMBER), _at_token(_number, _NUMBER),
    _glue, _glue, _all_blanks, _swap_tokens, _carriage_returns,
    _at_lines(_swap_lines), _at_lines(_drop_lines), _at_lines(_drop_lines), _at_lines(_double_lines),
    _at_lines(_cut_line), _at_lines(_join_lines), _at_lines(_wrap), _at_lines(_before_lines),
)  # fmt: skip

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**400, 1.5, -0.0, 1e308, "", "0", "N/A", "GPU0", "GPU1", "NV18",
    "0-3", "0-99999999", "0000:0f:00.0", "\u202e", "\ud800", "\x00", "\x1b[2J", "a" * 3000, [], {}, [[]], [None],
    ["GPU0"],
    [0], {"": None}, {"reason": "x"}, {"error": 999}, {"value": 0},
)  # fmt: skip


def _mutate_json(data: bytes, random: Random) -> bytes:
    """A value, a key or an item of a JSON text exchanged, so that it stays JSON."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    for _ in range(random.choice((1, 1, 2, 4))):
        _change_json(document, random)
    try:
        return json.dumps(document).encode()
    except (ValueError, RecursionError):
        return data


def _change_json(document: Any, random: Random) -> None:
    place = document
    for _ in range(random.randint(0, 8)):
        inside = list(place.values()) if isinstance(place, dict) else place
        below = [item for item in inside if isinstance(item, (dict, list)) and item]
        if not below or random.random() < 0.1:
            break
        place = random.choice(below)
    if isinstance(place, dict) and place:
        _change_object(place, random)
    elif isinstance(place, list) and place:
        _change_list(place, random)


def _change_object(place: dict[str, Any], random: Random) -> None:
    keys = list(place)
    key = random.choice(keys)
    way = random.randrange(5)
    if way == 0:
        del place[key]
    elif way == 1:
        place[random.choice(("", "unknown", "\u202e", key + "x", key.upper()))] = place.pop(key)
    elif way == 2:
        place[key] = place[random.choice(keys)]
    else:
        place[key] = _value(place[key], random)


def _change_list(place: list[Any], random: Random) -> None:
    at = random.randrange(len(place))
    way = random.randrange(5)
    if way == 0:
        del place[at]
    elif way == 1:
        place[at:at] = [place[random.randrange(len(place))]] * random.choice((1, 1, 1, 40))
    elif way == 2:
        place[at] = place[random.randrange(len(place))]
    else:
        place[at] = _value(place[at], random)


def _value(old: Any, random: Random) -> Any:
    if isinstance(old, bool) or random.random() < 0.6:
        return random.choice(_VALUES)
    if isinstance(old, int):
        return random.choice((old + 1, old - 1, -old, old << 32, float(old) if abs(old) < 1e300 else 0))
    if isinstance(old, str):
        return mutate(old.encode("utf-8", "surrogatepass"), random, ()).decode("utf-8", "surrogateescape")[:4_000]
    return random.choice(_VALUES)
