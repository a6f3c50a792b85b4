"""The one reader of GPU sets as people write them: index, `GPU3`, UUID, PCI address, label, ranges.

    >>> node = NodeTopology(gpus=tuple(Gpu(f"GPU{n}", n, f"GPU-{n}a-b", pci=f"0000:0{n}:00.0") for n in range(6)))
    >>> resolve(node, "0,GPU2,GPU-3a-b,05:00.0", "--gpus")
    ('GPU0', 'GPU2', 'GPU3', 'GPU5')
    >>> resolve(node, "4-5,GPU0-GPU1", "--gpus")
    ('GPU4', 'GPU5', 'GPU0', 'GPU1')
    >>> resolve(node, "9", "--in-use")
    Traceback (most recent call last):
    gputopo.errors.GputopoError: no such GPU: 9 (--in-use)
    hint: the node has GPU0-GPU5
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gputopo.errors import GputopoError
from gputopo.topology.node import Gpu, NodeTopology

_LONGEST_RANGE = 1024


def resolve(node: NodeTopology, text: str, option: str, units: Sequence[str] = ()) -> tuple[str, ...]:
    """The ids in the order written, each once. units: further names that stand for themselves (MIG, replicas).

    Raises GputopoError for a word that names none or several.
    """
    found: list[str] = []
    for word in (part.strip() for part in text.split(",")):
        if word:
            found += _word(node, word, option, units)
    return tuple(dict.fromkeys(found))


def _word(node: NodeTopology, word: str, option: str, units: Sequence[str]) -> tuple[str, ...]:
    if word in units:
        return (word,)
    one = _one(node, word, option)
    if one is not None:
        return (one,)
    span = _range(word)
    if span is None:
        raise _unknown(node, word, option, units)
    low, high = span
    if low > high:
        raise GputopoError(f"a range from {low} down to {high}: {word}", option, f"{high}-{low}")
    if high - low > _LONGEST_RANGE:
        raise _unknown(node, str(high), option, units)
    ids = []
    for number in range(low, high + 1):
        member = _one(node, str(number), option)
        if member is None:
            raise _unknown(node, str(number), option, units)
        ids.append(member)
    return tuple(ids)


def _one(node: NodeTopology, word: str, option: str) -> str | None:
    for matches in (_is_id, _is_uuid, _is_pci, _is_index, _is_alias, _starts_uuid):
        found = [gpu.id for gpu in node.gpus if matches(gpu, word)]
        if len(found) > 1:
            raise GputopoError(f"{word} names several GPUs: {', '.join(found)}", option)
        if found:
            return found[0]
    return None


def _is_id(gpu: Gpu, word: str) -> bool:
    return word.lower() == gpu.id.lower()


def _is_index(gpu: Gpu, word: str) -> bool:
    """By the number of its id: what topo's column, -L and NVML count."""
    return word.isascii() and word.isdigit() and gpu.id == f"GPU{int(word[:6])}"


def _is_uuid(gpu: Gpu, word: str) -> bool:
    return gpu.uuid is not None and word.lower() in (gpu.uuid.lower(), gpu.uuid.lower().removeprefix("gpu-"))


def _starts_uuid(gpu: Gpu, word: str) -> bool:
    """nvidia-smi and CUDA_VISIBLE_DEVICES take a UUID's beginning."""
    return len(word) > 5 and gpu.uuid is not None and gpu.uuid.lower().startswith(word.lower())


def _is_pci(gpu: Gpu, word: str) -> bool:
    """With the domain in four or eight digits, or without it where it is 0."""
    if gpu.pci is None or ":" not in word:
        return False
    parts = word.lower().split(":")
    if len(parts) == 2:
        parts = ["0", *parts]
    domain, bus, rest = parts if len(parts) == 3 else ("x", "", "")
    own = gpu.pci.split(":")
    try:
        return len(own) == 3 and int(domain, 16) == int(own[0], 16) and (bus.zfill(2), rest) == (own[1], own[2])
    except ValueError:
        return False


def _is_alias(gpu: Gpu, word: str) -> bool:
    return word in gpu.aliases


def _range(word: str) -> tuple[int, int] | None:
    """`0-3`, `GPU0-GPU3` and `GPU0-3` as two numbers."""
    low, dash, high = word.upper().partition("-")
    numbers = [part.removeprefix("GPU") for part in (low, high)]
    if not dash or not all(part.isascii() and part.isdigit() and len(part) < 6 for part in numbers):
        return None
    return int(numbers[0]), int(numbers[1])


def _unknown(node: NodeTopology, word: str, option: str, units: Iterable[str]) -> GputopoError:
    ids = [gpu.id for gpu in node.gpus]
    own = list(units)
    if own and set(own) - set(ids):
        hint = f"the units are {', '.join(own[:4])}{' ...' if len(own) > 4 else ''}"
    elif len(ids) > 2 and ids == [f"GPU{at}" for at in range(len(ids))]:
        hint = f"the node has {ids[0]}-{ids[-1]}"
    else:
        hint = f"the node has {', '.join(ids[:8])}" if ids else "the node has no GPUs"
    return GputopoError(f"no such GPU: {word}", option, hint)
