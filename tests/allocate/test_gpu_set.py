"""GPU sets as people write them."""

from __future__ import annotations

import pytest

from gputopo.allocate.gpu_set import resolve
from gputopo.errors import GputopoError
from tests.allocate.nodes import node, two_sockets

NODE = node(8, two_sockets)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("0,3", "03"), ("GPU0,gpu3", "03"), ("0-2", "012"), ("GPU1-GPU3", "123"), ("GPU1-3", "123"),
        ("GPU-uuid-5", "5"),
        ("10:00.0", "0"), ("0000:11:00.0", "1"), ("00000000:12:00.0", "2"), (" 4 , 4,5 ", "45"), ("", ""),
    ],
)  # fmt: skip
def test_words_for_gpus(text: str, ids: str) -> None:
    assert resolve(NODE, text, "--gpus") == tuple(f"GPU{one}" for one in ids)


@pytest.mark.parametrize("text", ["8", "GPU8", "6-8", "x", "-1", "GPU-uuid", "0000:99:00.0", "3-1", "0-99999999", "::"])
def test_a_word_for_no_gpu_is_one_error(text: str) -> None:
    with pytest.raises(GputopoError) as error:
        resolve(NODE, text, "--gpus")
    assert error.value.exit_code == 2
    assert error.value.where == "--gpus"


def test_units_stand_for_themselves() -> None:
    assert resolve(NODE, "GPU0::1,MIG-5", "--gpus", ("GPU0::1", "MIG-5")) == ("GPU0::1", "MIG-5")
