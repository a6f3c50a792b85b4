"""Recorded calls → decoded answers, by a small table of NVML's structs.

A call is `{key: [rc, outs]}`: the key is the JSON text `[symbol, argument, …]`, `outs` has the hex
of the bytes after the call for every argument that was passed by reference, else `null`. Numbers
and offsets are those of nvml.h on 64-bit little-endian Linux, where every recording comes from.

    >>> decode_calls({
    ...     '["nvmlDeviceGetHandleByIndex_v2", 0, ["ref", "LP_struct_c_nvmlDevice_t", "00"]]':
    ...         [0, [None, "0700000000000000"]],
    ...     '["nvmlDeviceGetNumaNodeId", ["h", 7], ["ref", "c_int", "00000000"]]': [3, [None, "00000000"]],
    ...     '["nvmlDeviceGetMinorNumber", ["h", 7], ["ref", "c_uint", "00000000"]]': [0, [None, "02000000"]],
    ... })
    {'gpus': [{'index': 0, 'numaNodeId': {'error': 3}, 'minor': 2}]}
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

_HANDLE_CALL = "nvmlDeviceGetHandleByIndex_v2"
Decoder = Callable[[bytes], object]


def _unsigned(content: bytes) -> int:
    return int.from_bytes(content[:4], "little")


def _signed(content: bytes) -> int:
    return int.from_bytes(content[:4], "little", signed=True)


def _long(content: bytes) -> int:
    return int.from_bytes(content[:8], "little")


def _string(content: bytes) -> str:
    return content.split(b"\0", 1)[0].decode("utf-8", "replace")


def _bus_id(content: bytes) -> str:
    """nvmlPciInfo_t: busIdLegacy[16], five numbers, busId[32]."""
    return _string(content[36:68])


def _words(content: bytes) -> list[int]:
    return [_long(content[at : at + 8]) for at in range(0, len(content), 8)]


def _fields(content: bytes) -> list[list[object]]:
    """nvmlFieldValue_t, 40 bytes: field, scope, 2 × 8 bytes of time, value type, return, value."""
    answers: list[list[object]] = []
    for at in range(0, len(content) - 39, 40):
        field, scope, kind, code = (_unsigned(content[at + o :]) for o in (0, 4, 24, 28))
        answers.append([field, scope, code, _value(kind, content[at + 32 : at + 40]) if code == 0 else None])
    return answers


def _value(kind: int, content: bytes) -> int | float | None:
    """nvmlValue_t by nvmlValueType_t: double, uint, ulong, ulonglong, longlong, int, ushort."""
    if kind == 0:
        import struct

        value: float = struct.unpack("<d", content)[0]
        return value
    if kind > 6:
        return None
    width = (8, 4, 8, 8, 8, 4, 2)[kind]
    return int.from_bytes(content[:width], "little", signed=kind in (4, 5))


def _fabric(content: bytes) -> dict[str, object]:
    """nvmlGpuFabricInfo_v2/v3: version, clusterUuid[16], status, cliqueId, state, mask, (summary)."""
    cluster = content[4:20].hex()
    status, clique, state, mask = (_unsigned(content[at:]) for at in (20, 24, 28, 32))
    fabric: dict[str, object] = {
        "state": state,
        "status": status,
        "cliqueId": clique,
        "clusterUuid": "-".join((cluster[:8], cluster[8:12], cluster[12:16], cluster[16:20], cluster[20:])),
        "healthMask": mask,
    }
    if len(content) >= 40:
        fabric["healthSummary"] = content[36]
    return fabric


# Symbol → (key, decoder); the answer is the first argument passed by reference.
_GPU: dict[str, tuple[str, Decoder]] = {
    "nvmlDeviceGetUUID": ("uuid", _string),
    "nvmlDeviceGetName": ("name", _string),
    "nvmlDeviceGetPciInfo_v3": ("pci", _bus_id),
    "nvmlDeviceGetMinorNumber": ("minor", _unsigned),
    "nvmlDeviceGetMemoryInfo": ("memoryBytes", _long),
    "nvmlDeviceGetArchitecture": ("architecture", _unsigned),
    "nvmlDeviceGetModuleId": ("moduleId", _unsigned),
    "nvmlDeviceGetNumaNodeId": ("numaNodeId", _signed),
    "nvmlDeviceGetGpuFabricInfoV": ("fabric", _fabric),
}
_PCIE: dict[str, tuple[str, Decoder]] = {
    "nvmlDeviceGetCurrPcieLinkGeneration": ("generation", _unsigned),
    "nvmlDeviceGetCurrPcieLinkWidth": ("width", _unsigned),
    "nvmlDeviceGetMaxPcieLinkGeneration": ("maxGeneration", _unsigned),
    "nvmlDeviceGetMaxPcieLinkWidth": ("maxWidth", _unsigned),
}
_LINK: dict[str, tuple[str, Decoder]] = {
    "nvmlDeviceGetNvLinkState": ("state", _unsigned),
    "nvmlDeviceGetNvLinkRemoteDeviceType": ("remoteType", _unsigned),
    "nvmlDeviceGetNvLinkRemotePciInfo_v2": ("remoteBusId", _bus_id),
}
_SETS = {
    "nvmlDeviceGetCpuAffinityWithinScope": "cpuAffinity",
    "nvmlDeviceGetMemoryAffinity": "memoryAffinity",
}
_SCOPES = ("node", "socket")


def decode_calls(calls: dict[str, Any]) -> dict[str, object]:
    """What the table above can decode, in the spelling of a `snapshot`; odd calls are skipped."""
    parsed = [call for call in map(_parse, calls.items()) if call is not None]
    index_of: dict[int, int] = {}  # by handle
    handles: dict[int, int] = {}  # return code by index
    answers: dict[str, object] = {}
    for symbol, arguments, code, output in parsed:
        if symbol == _HANDLE_CALL and arguments and isinstance(arguments[0], int):
            handles[arguments[0]] = code
            if code == 0:
                index_of[_long(output)] = arguments[0]
        elif symbol == "nvmlSystemGetDriverVersion":
            answers["driver"] = _answer(code, output, _string)
        elif symbol == "nvmlSystemGetCudaDriverVersion_v2":
            answers["cuda"] = _answer(code, output, _signed)
    count = len(handles)
    if sorted(handles) != list(range(count)):  # NVML counts from 0; anything else is damage
        return answers
    gpus: list[dict[str, Any]] = [{"index": index} for index in range(count)]
    for index, code in handles.items():
        if code != 0:
            gpus[index]["handle"] = {"error": code}
    matrices: dict[str, list[list[object]]] = {}
    for symbol, arguments, code, output in parsed:
        numbers = [a[1] for a in arguments if isinstance(a, list) and len(a) == 2 and a[0] == "h"]
        indexes = [index_of[n] for n in numbers if isinstance(n, int) and n in index_of]
        plain = [a for a in arguments if isinstance(a, int)]
        if len(indexes) == 1:
            _put_gpu(gpus[indexes[0]], symbol, plain, code, output)
        elif len(indexes) == 2:
            _put_pair(matrices, count, symbol, indexes, plain, _answer(code, output, _unsigned))
    for gpu in gpus:
        if "links" in gpu:
            gpu["links"] = [gpu["links"][number] for number in sorted(gpu["links"])]
    answers["gpus"] = gpus
    if "topology" in matrices:
        answers["topology"] = matrices.pop("topology")
    if matrices:
        answers["p2p"] = matrices
    return answers


def _parse(item: tuple[str, Any]) -> tuple[str, list[Any], int, bytes] | None:
    """Symbol, arguments, return code and the bytes of the first argument that was filled."""
    key, value = item
    try:
        symbol, *arguments = json.loads(key)
        code, outputs = value
        output = next((bytes.fromhex(o) for o in outputs if o is not None), b"")
    except (ValueError, TypeError, RecursionError):
        return None
    if not isinstance(symbol, str) or not isinstance(code, int):
        return None
    return symbol, arguments, code, output


def _answer(code: int, output: bytes, decoder: Decoder) -> object:
    return decoder(output) if code == 0 else {"error": code}


def _put_gpu(gpu: dict[str, Any], symbol: str, plain: list[int], code: int, output: bytes) -> None:
    if symbol in _GPU:
        key, decoder = _GPU[symbol]
        # The fabric is asked with an older struct again after a refusal: an answer wins.
        if code == 0 or key not in gpu:
            gpu[key] = _answer(code, output, decoder)
    elif symbol in _PCIE:
        key, decoder = _PCIE[symbol]
        gpu.setdefault("pcie", {})[key] = _answer(code, output, decoder)
    elif symbol in _LINK and plain:
        key, decoder = _LINK[symbol]
        link = gpu.setdefault("links", {}).setdefault(plain[0], {"link": plain[0]})
        link[key] = _answer(code, output, decoder)
    elif symbol in _SETS and len(plain) == 2 and 0 <= plain[1] < len(_SCOPES):
        sets = gpu.setdefault(_SETS[symbol], {})
        sets[_SCOPES[plain[1]]] = _answer(code, output, _words)
    elif symbol == "nvmlDeviceGetFieldValues":
        known = gpu.get("fields")
        if code == 0:
            gpu["fields"] = (known if isinstance(known, list) else []) + _fields(output)
        elif known is None:
            gpu["fields"] = {"error": code}


def _put_pair(
    matrices: dict[str, list[list[object]]],
    count: int,
    symbol: str,
    indexes: list[int],
    plain: list[int],
    answer: object,
) -> None:
    if symbol == "nvmlDeviceGetTopologyCommonAncestor":
        name = "topology"
    elif symbol == "nvmlDeviceGetP2PStatus" and plain:
        name = str(plain[0])
    else:
        return
    if name not in matrices:
        matrices[name] = [[None] * count for _ in range(count)]
    matrices[name][indexes[0]][indexes[1]] = answer
