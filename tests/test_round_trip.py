"""`inspect -o json | inspect -` prints the same document, findings and sources included."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gputopo.evidence.open import open_sources
from gputopo.evidence.piece import Piece
from gputopo.inspection import inspect
from gputopo.sample_files import sample_names
from tests.machines import Spelled

SHARED = Path(os.environ.get("GPUTOPO_SHARED", Path(__file__).parent.parent.parent / "shared")) / "data"
SAVED = [
    *sorted(SHARED.glob("topo-dumps/[0-9]*.txt")),
    *sorted(SHARED.glob("nccl/xml/*.xml")),
    *sorted(SHARED.glob("sysfs/*/*.tar.xz")),
    *sorted(SHARED.glob("sysfs/nvml/*.gz")),
]


def document(pieces: tuple[Piece, ...], provenance: bool = False) -> str:
    from gputopo.documents.layout import dumps
    from gputopo.documents.node import encode, encode_list

    made = [encode(*one, provenance=provenance) for one in inspect(pieces)]
    return dumps(made[0] if len(made) == 1 else encode_list(made))


def assert_lossless(*sources: str) -> None:
    pieces = open_sources(sources)
    for provenance in (False, True):
        first = document(pieces, provenance)
        assert document((Piece("-", first.encode()),), provenance) == first


@pytest.mark.parametrize("name", sample_names())
def test_a_sample(name: str) -> None:
    assert_lossless(f"sample:{name}")


@pytest.mark.parametrize("name", ["dgx-a100-nps4", "gb200-tray", "pcie-bridged"])
def test_all_spellings_together(name: str, spelled: Spelled) -> None:
    assert_lossless(*map(str, spelled(name).values()))


@pytest.mark.skipif(not SAVED, reason="needs the shared data (GPUTOPO_SHARED)")
@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.name)
def test_what_people_saved(path: Path) -> None:
    assert_lossless(str(path))
