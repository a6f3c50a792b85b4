"""NVLink and C2C: field values in few calls, the state of every link, the far ends."""

from __future__ import annotations

from typing import Any

from gputopo.evidence.nvml import interface as nvml
from gputopo.evidence.nvml.asker import Asker, put, refused

_VALUE_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # by nvmlValueType_t
_ENDS = (nvml.INVALID_ARGUMENT, nvml.FUNCTION_NOT_FOUND)


def fields_of(gpu: Asker, index: int) -> Any:
    """Field values as [field, scope, rc, value], or the refusal of the first request."""
    if gpu.questions.fields is not None:
        answers: list[Any] = []
        for request in gpu.questions.fields.get(index, ()):
            answer = _request(gpu, request)
            if refused(answer) or answer is None:
                return answers or answer
            answers += answer
        return answers or None
    counts = _request(gpu, ((nvml.LINK_COUNT, 0), (nvml.LINK_SPEED_COMMON, 0), (nvml.C2C_COUNT, 0)))
    if counts is None or refused(counts):
        return counts
    answers = list(counts)
    for count_field, per_link in (
        (nvml.LINK_COUNT, (nvml.LINK_SPEED, nvml.LINK_STATE, nvml.LINK_REMOTE_NUMBER)),
        (nvml.C2C_COUNT, (nvml.C2C_STATUS, nvml.C2C_SPEED)),
    ):
        count = min(field_value(counts, count_field) or 0, nvml.MOST_LINKS)
        for field in per_link if count else ():
            answer = _request(gpu, tuple((field, link) for link in range(count)))
            answers += answer if isinstance(answer, list) else []
    return answers


def _request(gpu: Asker, request: nvml.FieldRequest) -> Any:
    return gpu.ask("nvmlDeviceGetFieldValues", gpu.handle, list(request), read=_field_answers)


def _field_answers(values: Any) -> list[list[Any]]:
    return [[int(v.fieldId), int(v.scopeId), int(v.nvmlReturn), _field_number(v)] for v in values]


def _field_number(answer: Any) -> int | float | None:
    if answer.nvmlReturn != 0 or answer.valueType >= len(_VALUE_MEMBERS):
        return None
    value: int | float = getattr(answer.value, _VALUE_MEMBERS[answer.valueType])
    return value


def field_value(fields: Any, field: int, scope: int = 0) -> int | None:
    """One value out of a field list; `None` when not asked or refused."""
    if isinstance(fields, list):
        for field_id, scope_id, code, value in fields:
            if (field_id, scope_id, code) == (field, scope, 0) and isinstance(value, int):
                return value
    return None


def links_of(gpu: Asker, count: int | None) -> list[dict[str, Any]] | None:
    """State of every link, and of those that are on the far end.

    `count` is field 91. Without it links are tried in order until a refusal: INVALID_ARGUMENT is
    past the last link, and a PCIe card answers NOT_SUPPORTED for link 0. That last one is kept.
    """
    links: list[dict[str, Any]] = []
    for number in range(nvml.MOST_LINKS if count is None else min(count, nvml.MOST_LINKS)):
        state = gpu.ask("nvmlDeviceGetNvLinkState", gpu.handle, number)
        if state is None:
            return None
        link: dict[str, Any] = {"link": number, "state": state}
        links.append(link)
        if refused(state) and (count is None or gpu.lost or state["error"] in _ENDS):
            break
        if state == 1:
            put(link, "version", gpu.ask("nvmlDeviceGetNvLinkVersion", gpu.handle, number))
            remote_type = gpu.ask("nvmlDeviceGetNvLinkRemoteDeviceType", gpu.handle, number)
            put(link, "remoteType", remote_type)
            put(link, "remoteBusId", _remote_bus_id(gpu, number))
    return links


def _remote_bus_id(gpu: Asker, link: int) -> Any:
    name = "nvmlDeviceGetNvLinkRemotePciInfo"  # the wrapper calls the _v2 symbol
    return gpu.ask(name, gpu.handle, link, symbol=f"{name}_v2", read=lambda pci: pci.busId)
