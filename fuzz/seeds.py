"""Good texts to start from: our machines in every spelling, and the texts in docstrings and tests."""

from __future__ import annotations

import ast
import doctest
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz" / "corpus"
# Small machines first: most of what a parser can do wrong, it does with two GPUs, and much faster.
_MACHINES = (
    "single-gpu",
    "mixed-5gpu",
    "pcie-bridged",
    "gb200-tray",
    "4x4090",
    "hgx-h200-container",
    "soc-era-p40",
    "dgx-a100-nps4",
)
_SPELLINGS = {
    "topo-m": "nvidia_smi_topo", "topo-mp": "nvidia_smi_topo", "nccl-xml": "nccl_xml", "hwloc-xml": "hwloc_xml",
    "lscpu": "lscpu", "nvml-recording": "nvml_recording",
}  # fmt: skip
_LARGEST = 40_000


@cache
def texts(parser: str) -> tuple[bytes, ...]:
    """The seeds of one text parser, each once; shortest first."""
    module = import_module(f"gputopo.parsers.{parser}")
    found = {text.encode("utf-8", "surrogatepass") for text in _constants(parser) if _sniffs(module, text)}
    found.update(_spelled().get(parser, ()))
    found.update(path.read_bytes() for path in _corpus_files(parser) if not path.name.endswith(".gz"))
    return tuple(sorted((text for text in found if 0 < len(text) <= _LARGEST), key=lambda text: (len(text), text)))


def _corpus_files(parser: str) -> Iterator[Path]:
    folder = CORPUS / parser
    return (path for path in sorted(folder.iterdir()) if path.is_file()) if folder.is_dir() else iter(())


def _sniffs(module: ModuleType, text: str) -> bool:
    return len(text) > 20 and bool(module.sniff(text))


@cache
def _spelled() -> dict[str, tuple[bytes, ...]]:
    """Parser → our machines in its format."""
    from tests.machines import MACHINES, spellings

    found: dict[str, list[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in _MACHINES:
            for spelling, path in spellings(MACHINES[name], Path(folder) / name).items():
                if spelling in _SPELLINGS:
                    found.setdefault(_SPELLINGS[spelling], []).append(path.read_bytes())
    return {parser: tuple(texts) for parser, texts in found.items()}


@cache
def documents() -> tuple[bytes, ...]:
    """What `inspect -o json` prints of our machines: from a matrix, and from all spellings together."""
    from gputopo.documents.layout import dumps
    from gputopo.documents.node import encode, encode_list
    from gputopo.evidence.open import open_sources
    from gputopo.inspection import inspect
    from tests.machines import MACHINES, spellings

    found = []
    for name in ("single-gpu", "4x4090", "mixed-5gpu", "pcie-bridged"):
        found.append([encode(*one) for one in inspect(open_sources([f"sample:{name}"]))])
    with tempfile.TemporaryDirectory() as folder:
        paths = spellings(MACHINES["mixed-5gpu"], Path(folder))
        found.append([encode(*one, provenance=True) for one in inspect(open_sources([*map(str, paths.values())]))])
    found.append(found[0] + found[1])
    return tuple(dumps(one[0] if len(one) == 1 else encode_list(one)).encode() for one in found)


def _constants(parser: str) -> Iterator[str]:
    """Every string in a parser's docstrings and in its tests."""
    place = ROOT / "gputopo" / "parsers" / parser
    for path in (*sorted(place.glob("*.py")), place.with_suffix(".py")):
        if path.is_file():
            yield from _of_docstrings(ast.parse(path.read_text(encoding="utf-8")))
    for folder in ("parsers", "pods_sources"):
        for path in sorted((ROOT / "tests" / folder).glob(f"test_{parser}*.py")):
            yield from _strings(ast.parse(path.read_text(encoding="utf-8")))


def _of_docstrings(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)):
            for example in doctest.DocTestParser().get_examples(ast.get_docstring(node) or ""):
                try:
                    yield from _strings(ast.parse(example.source))
                except SyntaxError:
                    continue


def _strings(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
