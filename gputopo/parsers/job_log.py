r"""Lines of vLLM, SGLang, torchrun, DeepSpeed and Megatron that name ranks, devices and how a model is split.

    >>> said = parse('''+ export CUDA_VISIBLE_DEVICES=2,3,0,1
    ... + vllm serve model-a --tensor-parallel-size 4
    ... INFO 07-20 08:00:01 [core.py:58] Initializing a V1 LLM engine (v0.8.2) with config: model='model-a', \
    ... tensor_parallel_size=4, pipeline_parallel_size=1
    ... INFO 07-20 08:00:09 [parallel_state.py:954] rank 0 in world size 4 is assigned as DP rank 0, PP rank 0, TP rank 0
    ... [2026-01-20 02:39:57 DP0 TP0] world_size=4 rank=1 local_rank=1 distributed_init_method=tcp://127.0.0.1:1 backend=nccl
    ... '''.splitlines())
    >>> said.frameworks, said.setting("tensor_parallel"), said.setting("pipeline_parallel"), said.setting("world_size")
    (('vllm',), 4, 1, 4)
    >>> said.visible[0].devices, [(one.rank, one.tensor_rank, one.local_rank) for one in said.places]
    (('2', '3', '0', '1'), [(0, 0, None), (1, None, 1)])

What a command line asks for and what the program then says can differ: both are kept, in order. Numbers of devices are
those of the process, after CUDA_VISIBLE_DEVICES; without CUDA_DEVICE_ORDER=PCI_BUS_ID that variable itself counts the
fastest GPU first.
"""  # noqa: E501

from __future__ import annotations

import re
from collections.abc import Iterable

from gputopo.job_records import FrameworkRecord, RankPlaceRecord, SettingRecord, VisibleRecord
from gputopo.nccl_records import EnvRecord, Speaker
from gputopo.parsers.log_lines import clean

KEPT_MOST = 4_096  # different lines of one kind
_TEXT_MOST = 200
_NAMES = {
    "tensor_parallel": r"tensor[_-](?:model[_-])?parallel(?:[_-]size| size)|tp[_-]size|(?<![\w-])--?tp(?= |=)",
    "pipeline_parallel": r"pipeline[_-](?:model[_-])?parallel(?:[_-]size| size)|pp[_-]size|(?<![\w-])--?pp(?= |=)",
    "data_parallel": r"data[_-]parallel(?:[_-]size| size)|dp[_-]size|(?<![\w-])--?dp(?= |=)",
    "context_parallel": r"context[_-]parallel(?:[_-]size| size)|cp[_-]size",
    "expert_parallel": r"expert[_-](?:model[_-])?parallel(?:[_-]size| size)|ep[_-]size",
    "world_size": r"(?:dist_)?world[_ ]size",
    "per_node": r"nproc[_-]per[_-]node|num_local_procs",
    "nodes": r"nnodes",
}
_SETTING = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _NAMES.items()))
_VALUE = re.compile(r"['\"]?(?:\s?[=:]\s?|\s+(?:\.{2,} ?|of |is )?)['\"]?(\d{1,7})(?![\w.]*[\w])")
_INITIALIZED = re.compile(r"> initialized (tensor|pipeline) model parallel with size (\d{1,7})")
_VISIBLE = re.compile(
    r"CUDA_VISIBLE_DEVICES(?: set by environment to |['\"]?\s?[=:]\s?)['\"\[]?"
    r"((?:GPU-|MIG-)?[\w-]+(?:, ?(?:GPU-|MIG-)?[\w-]+)*)"
)
_ORDER = re.compile(r"CUDA_DEVICE_ORDER['\"]?\s?[=:]\s?['\"]?(PCI_BUS_ID|FASTEST_FIRST)")
_SHELL = re.compile(r"(?:^|[\s;])(?:\$ |\+ |export |-e |-x |--env[ =])")
_ASSIGNED = re.compile(r"(?<![\w-])(NCCL_[A-Z0-9_]{2,60})=(\"[^\"]{0,200}\"|'[^']{0,200}'|[^\s;'\"]{1,200})")
_LOCAL_RANK = re.compile(r"LOCAL_RANK: (\d{1,6})")
_VLLM_RANK = re.compile(
    r"rank (\d{1,7}) in world size (\d{1,7}) is assigned as (?:DP rank (\d{1,7}), )?PP rank (\d{1,7}), "
    r"(?:PCP rank \d+, )?TP rank (\d{1,7})"
)
_INIT_RANK = re.compile(r"world_size=(\d{1,7}) rank=(\d{1,7}) local_rank=(\d{1,7})")
_TORCH_GPU = re.compile(r"\bRank (\d{1,7})\] {1,2}using GPU (\d{1,4})\b")
_CUSTOM = re.compile(r"[Cc]ustom all-?reduce is disabled because ([^\n]{1,200}?)(?:\. To silence|$)")
_NEEDLES = (
    "parallel", "VISIBLE_DEVICES", "world", "tp", "NCCL_", "nproc", "nnodes", "using GPU", "DEVICE_ORDER",
    "llreduce is", "num_local_procs", "all-reduce is",
)  # fmt: skip
_FRAMEWORKS = (
    ("vllm", re.compile(r"\bvllm\b|LLM engine \(v|\[parallel_state\.py:|VllmWorker")),
    ("sglang", re.compile(r"\bsglang\b|server_args=ServerArgs\(")),
    ("torchrun", re.compile(r"\btorchrun\b|torch\.distributed\.(?:run|launch)\b|torchelastic")),
    ("deepspeed", re.compile(r"\b[Dd]eep[Ss]peed\b|\[launch\.py:\d+:main\]")),
    ("megatron", re.compile(r"\b[Mm]egatron\b|tensor-model-parallel size: |> initialized tensor model parallel")),
)  # fmt: skip


def sniff(text: str) -> bool:
    """Whether a text names how a job is split, which devices it sees, or where its ranks are."""
    return any(needle in text for needle in _NEEDLES) and any(
        _says(line[:2_000]) for line in text.split("\n", 100_000) if any(needle in line for needle in _NEEDLES)
    )


def _says(line: str) -> bool:
    return any(True for _ in _settings(line)) or any(
        known.search(line) is not None
        for known in (_VISIBLE, _VLLM_RANK, _INIT_RANK, _INITIALIZED, _TORCH_GPU, _CUSTOM)
    )


def _settings(line: str) -> Iterable[tuple[str, int]]:
    for match in _SETTING.finditer(line):
        value = _VALUE.match(line, match.end())
        if value is not None and match.lastgroup is not None:
            yield match.lastgroup, int(value[1])


class Reader:
    """Takes the lines of a log; `record()` when they have ended."""

    __slots__ = ("_custom", "_env", "_frameworks", "_order", "_places", "_settings", "_visible")

    def __init__(self) -> None:
        self._frameworks: dict[str, None] = {}
        self._settings: dict[tuple[str, int], SettingRecord] = {}
        self._visible: dict[tuple[object, ...], VisibleRecord] = {}
        self._places: dict[tuple[object, ...], RankPlaceRecord] = {}
        self._env: dict[tuple[str, str], EnvRecord] = {}
        self._order: str | None = None
        self._custom: tuple[str, int] | None = None

    def feed(self, number: int, line: str) -> bool:
        """One cleaned line; whether it says something here."""
        for needle in _NEEDLES:
            if needle in line:
                return self._heard(number, line)
        return False

    def _heard(self, number: int, line: str) -> bool:
        line = line[:16_384]
        heard = self._devices(number, line) | self._ranks(number, line)
        for name, value in _settings(line):
            heard = True
            self._set(name, value, number)
        if (custom := _CUSTOM.search(line)) is not None:
            heard = True
            self._custom = self._custom or (custom[1].strip()[:_TEXT_MOST], number)
        if heard:
            for name, words in _FRAMEWORKS:
                if name not in self._frameworks and words.search(line) is not None:
                    self._frameworks[name] = None
        return heard

    def _devices(self, number: int, line: str) -> bool:
        heard = False
        if (visible := _VISIBLE.search(line)) is not None:
            heard = True
            devices = tuple(one.strip() for one in visible[1].split(","))
            local = _LOCAL_RANK.search(line)
            by = "nccl" if " set by environment" in visible[0] else "shell" if self._is_shell(line) else "framework"
            record = VisibleRecord(devices, by, int(local[1]) if local else None, number)
            _put(self._visible, record[:3], record)
        if (order := _ORDER.search(line)) is not None:
            heard = True
            self._order = self._order or order[1]
        if "NCCL_" in line and self._is_shell(line):
            for name, value in _ASSIGNED.findall(line):
                heard = True
                value = value.strip("'\"")
                _put(self._env, (name, value), EnvRecord(name, value, Speaker(None, None), "shell", number))
        return heard

    @staticmethod
    def _is_shell(line: str) -> bool:
        return _SHELL.search(line) is not None

    def _ranks(self, number: int, line: str) -> bool:
        if (match := _VLLM_RANK.search(line)) is not None:
            rank, world, data, pipeline, tensor = (int(one) if one else None for one in match.groups())
            place = RankPlaceRecord(
                rank, world_size=world, tensor_rank=tensor, pipeline_rank=pipeline, data_rank=data, line=number
            )
        elif (match := _INIT_RANK.search(line)) is not None:
            place = RankPlaceRecord(int(match[2]), int(match[3]), int(match[1]), line=number)
        elif (match := _TORCH_GPU.search(line)) is not None:
            place = RankPlaceRecord(int(match[1]), device=int(match[2]), line=number)
        elif (match := _INITIALIZED.search(line)) is not None:
            self._set(f"{match[1]}_parallel", int(match[2]), number)
            return True
        else:
            return False
        if place.world_size is not None:
            self._set("world_size", place.world_size, number)
        _put(self._places, place._replace(line=0), place)
        return True

    def _set(self, name: str, value: int, number: int) -> None:
        _put(self._settings, (name, value), SettingRecord(name, value, number))

    def record(self) -> FrameworkRecord | None:
        """None where no line says anything."""
        made = FrameworkRecord(
            tuple(self._frameworks),
            tuple(self._settings.values()),
            tuple(self._visible.values()),
            self._order,
            tuple(self._places.values()),
            tuple(self._env.values()),
            self._custom,
        )
        return None if made == FrameworkRecord() else made


def _put(table: dict, key: object, value: object) -> None:  # type: ignore[type-arg]
    if key not in table and len(table) < KEPT_MOST:
        table[key] = value


def parse(lines: Iterable[str]) -> FrameworkRecord | None:
    """What frameworks say in a log; None where none says anything."""
    reader = Reader()
    for number, line in enumerate(lines, 1):
        reader.feed(number, clean(line))
    return reader.record()
