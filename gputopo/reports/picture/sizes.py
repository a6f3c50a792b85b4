"""Lengths of a picture in pixels, and the sizes of its letters."""

from __future__ import annotations

SMALL, NORMAL, NAME, TITLE = 10.0, 11.0, 12.0, 18.0
LINE = 13.0  # from one small line to the next
MARGIN = 20.0
PAD = 7.0  # inside a box
GAP = 7.0  # between what stands in a box
ROOM_GAP = 18.0
CARD_PAD = 6.0
CARD_LEAST, CARD_MOST = 58.0, 100.0
BADGE = 14.0
CHIP = 15.0  # height of a letter chip
CPU_BAR = 16.0  # room for the bar of the CPUs, where GPUs have links to them
NARROWEST = 560.0  # canvas
