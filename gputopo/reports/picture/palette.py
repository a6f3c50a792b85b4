"""What a role looks like, on light and on dark ground.

Levels have the colours of Okabe and Ito (jfly.uni-koeln.de/color), which people with any colour blindness tell apart;
each has a dash pattern and its letters beside, since some of them are one grey.
"""

from __future__ import annotations

from typing import NamedTuple

from gputopo.reports.picture.captions import POD_COLOURS


class Look(NamedTuple):
    fill: str = "none"
    stroke: str = "none"
    width: float = 1


LEVELS = {
    "pix": "#009e73", "pxb": "#56b4e9", "phb": "#f0e442", "node": "#e69f00", "sys": "#d55e00", "open": "#b8bfc7",
}  # fmt: skip
_PODS = ("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#b8bfc7")  # black words stand out on each
assert len(_PODS) == POD_COLOURS


def _mixed(colour: str, other: str, share: float) -> str:
    """`share` of the first colour in the second."""
    parts = [(int(colour[at : at + 2], 16), int(other[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(one * share + two * (1 - share)):02x}" for one, two in parts)


def _looks(page: str, text: str, muted: str, line: str, blue: str, purple: str, orange: str) -> dict[str, Look]:
    tint = 0.16
    looks = {
        "page": Look(page),
        "text": Look(text), "muted": Look(muted), "card-text": Look(text), "card-muted": Look(_mixed(text, muted, 0.7)),
        "on-level": Look("#000000"), "level-mark": Look("none", "#000000"), "on-badge": Look("#000000"),
        "on-pill": Look(text), "on-wire": Look(text), "wire-ground": Look(page), "on-fabric": Look(text),
        "box-package": Look(_mixed(line, page, 0.10), line, 1.6),
        "box-numa": Look(page, line, 1),
        "box-unknown": Look(page, line, 1.2),
        "box-idle": Look(_mixed(line, page, 0.05), _mixed(line, page, 0.5), 1),
        "box-hostBridge": Look(_mixed(line, page, 0.07), _mixed(line, page, 0.8), 1),
        "box-switch": Look(_mixed(line, page, 0.07), _mixed(line, page, 0.8), 1),
        "box-bridge": Look(_mixed(line, page, 0.07), _mixed(line, page, 0.8), 1),
        "box-level": Look(_mixed(line, page, 0.07), line, 1.2),
        "gpu": Look(_mixed(blue, page, tint), blue, 1.2),
        "nic": Look(_mixed(orange, page, tint), orange, 1.2),
        "nvme": Look(_mixed(muted, page, tint), muted, 1.2),
        "nvlink": Look("none", blue), "xgmi": Look("none", purple), "c2c": Look("none", purple),
        "fabric": Look(_mixed(blue, page, 0.3), blue, 1.4),
        "cpu": Look(line), "line-plain": Look("none", line),
        "between": Look(_mixed(line, page, 0.14), line, 1.4),
        "between-crossed": Look(_mixed(LEVELS["sys"], page, 0.3), LEVELS["sys"], 2),
        "mark-pill": Look(page, text, 1.2),
        "set-a": Look("#56b4e9", text, 1.2), "set-b": Look("#e69f00", text, 1.2), "badge-more": Look("#b8bfc7"),
    }  # fmt: skip
    for name, colour in LEVELS.items():
        looks[f"level-{name}"] = Look(colour)
        strong = _mixed(colour, text, 0.8)  # yellow on white is hardly a line
        looks[f"line-{name}"] = Look("none", strong)
        looks[f"box-{name}"] = Look(_mixed(colour, page, 0.09), strong, 1.6)
    for at, colour in enumerate(_PODS, 1):
        looks[f"pod-{at}"] = Look(colour, text, 1)
    for kind in ("gpu", "nic", "nvme"):
        looks[f"{kind}-other"] = Look(_mixed(muted, page, 0.06), _mixed(muted, page, 0.6), 1)
        looks[f"{kind}-set-a"] = Look(_mixed("#56b4e9", page, 0.4), text, 2.6)
        looks[f"{kind}-set-b"] = Look(_mixed("#e69f00", page, 0.4), text, 2.6)
        for at, colour in enumerate(_PODS, 1):
            looks[f"{kind}-pod-{at}"] = Look(_mixed(colour, page, 0.36), colour, 2)
    return looks


LIGHT = _looks("#ffffff", "#1b1f24", "#4b535c", "#7d8792", "#0072b2", "#a8508a", "#b36b00")
DARK = _looks("#0d1117", "#e9eef4", "#aab4bf", "#7b8794", "#58b0f0", "#e09ac6", "#e6a63c")
