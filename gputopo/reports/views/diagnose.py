"""`diagnose` as blocks: the verdict first, then the set and its rates, groups, findings, and what would be better."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gputopo.jobs import said as words
from gputopo.jobs.model import Hop
from gputopo.reports.blocks import Blank, Block, Cell, Column, KeyValue, Row, Table, cell, level_cell
from gputopo.reports.views.inspect_findings import found
from gputopo.reports.views.inspect_notes import notes
from gputopo.reports.views.words import cpu_list, file_name
from gputopo.rules.jobs.told import Told
from gputopo.rules.wording import counted, listed, names
from gputopo.terms.cpu_mask import cpus_of
from gputopo.topology.gpu_sets import SetSeen
from gputopo.topology.node import NodeTopology

_MOST_GROUPS = 16


def blocks(
    told: Told, *, verbose: bool = False, quiet: bool = False, exit_note: str | None = None
) -> tuple[Block, ...]:  # fmt: skip
    """The report of one job on one node."""
    node = _told(told)
    made: list[Block] = [KeyValue("VERDICT", (cell(told.verdict, "strong"),)), Blank()]
    if not quiet:
        made += [*_set(told), *_rates(told), *_weakest(told), *_links(told), *_transports(told), *_masks(told), Blank()]
        made += [*_groups(told)]
    made += [*found(node, told.findings, told.not_checked, verbose=verbose, quiet=quiet)]
    if not quiet:
        better = list(_better(told))
        made += [Blank(), *better, *([Blank()] if better else []), *notes(node, verbose=verbose)]
    if exit_note is not None:
        code, _, text = exit_note.partition(" ")
        made += [Blank(), KeyValue(f"exit {code}", (cell(text.strip(), "dim"),), role="dim")]
    return tuple(made)


def _told(told: Told) -> NodeTopology:
    """The node with the job's logs among its sources, and what of its gaps touches the job."""
    job = told.diagnosis.job
    sources = {source.id: source for source in (*job.node.sources, *(one.source for one in job.logs))}
    return job.node._replace(
        sources=tuple(sources.values()), conflicts=(), unknown=told.unknown, assumptions=told.assumptions
    )


def _set(told: Told) -> Iterator[Block]:
    job = told.diagnosis.job
    who = "" if job.narrowed else " (nobody says which the job has)"
    gpus = names(job.gpus) if job.gpus else "no GPU known"
    models = listed(list(dict.fromkeys(gpu.name for gpu in job.node.gpus if gpu.id in job.gpus and gpu.name)))
    said = [f"{gpus}{who}", models, f"by {_source(job.basis)}" if job.narrowed else ""]
    ranks = [one for one in job.ranks if one.gpu and one.basis != "order"]
    if ranks:
        said.append(f"ranks {_span([one.rank for one in ranks])}")
    if job.nccl is not None and job.nccl.version:
        said.append(f"NCCL {job.nccl.version}")
    if job.nodes and job.nodes > 1:
        said.append(f"{job.nodes} nodes")
    yield KeyValue("SET", (cell("   ".join(part for part in said if part)),))


def _source(basis: str) -> str:
    return basis if basis.startswith("--") else file_name(basis)


def _span(numbers: Sequence[int]) -> str:
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])


def _rates(told: Told) -> Iterator[Block]:
    rates = told.diagnosis.rates
    runs = [(len(run.ranks), told.busbw(run)) for _, run in told.diagnosis.job.runs]
    parts = []
    several = [f"{rate:.4g} with {counted(count, 'GPU')}" for count, rate in runs if rate is not None]
    if len(several) > 1:
        parts.append(f"measured {', '.join(several)}")
    elif rates.measured is not None:
        parts.append(f"measured {rates.measured:.4g}")
    if rates.expected is not None:
        parts.append(f"expected {rates.expected:.4g}")
    if rates.ceiling is not None:
        parts.append(f"wire limit {rates.ceiling:.4g}")
    if parts:
        yield KeyValue("RATE", (cell(" | ".join(parts) + "   all-reduce bus GB/s"),))
    if rates.expected is not None and rates.basis:
        yield KeyValue("", (cell(f"expected: {rates.basis}", "dim"),))
    if rates.ceiling is not None and rates.ceiling_basis:
        yield KeyValue("", (cell(f"wire limit: {rates.ceiling_basis}", "dim"),))


def _weakest(told: Told) -> Iterator[Block]:
    weakest = told.diagnosis.seen.weakest
    if weakest is None:
        return
    hop = next((one for one in told.diagnosis.job.hops if {one.a, one.b} == {weakest.a, weakest.b}), None)
    rate = told.pair_rate(weakest.a, weakest.b)
    path = f", {rate:.4g} GB/s in NCCL's model" if rate else ""
    used = f"; NCCL connects it via {hop.transport}" if hop else ""
    text = (*cell(f"{weakest.a}-{weakest.b} "), *level_cell(weakest.level), *cell(f"{_way(told)}{path}{used}"))
    yield KeyValue("WEAKEST", (text,))


def _way(told: Told) -> str:
    linked = told.diagnosis.all_nvlink(told.diagnosis.job.gpus)
    if linked is False:
        return " (no NVLink between them: PCIe)"
    return ""


def _transports(told: Told) -> Iterator[Block]:
    """How many pairs NCCL connected by what."""
    kinds: dict[str, list[Hop]] = {}
    for hop in told.diagnosis.job.hops:
        kinds.setdefault(hop.transport, []).append(hop)
    if kinds:
        said = [f"{counted(len(some), 'pair')} via {transport}" for transport, some in kinds.items()]
        yield KeyValue("NCCL", (cell(listed(said, 4)),))
    nccl = told.diagnosis.job.nccl
    network = words.network(nccl) if nccl is not None else None
    if nccl is not None and network is not None:
        direct = {True: ", GPUDirect RDMA (GDR) in use", False: ", no GPUDirect RDMA (GDR)", None: ""}[words.gdr(nccl)]
        yield KeyValue("NETWORK", (cell(f"{words.inter_node(nccl) or network}{direct}"),))


def _links(told: Told) -> Iterator[Block]:
    """The PCIe links of the set's GPUs, where some pair depends on them."""
    if told.diagnosis.all_nvlink(told.diagnosis.job.gpus):
        return
    kinds: dict[str, list[str]] = {}
    for gpu in told.diagnosis.node.gpus:
        link = gpu.pcie
        if gpu.id in told.diagnosis.job.gpus and link is not None and (link.generation or link.max_generation):
            now, most = link.generation or link.max_generation, link.max_generation or link.generation
            width = f" x{link.width or link.max_width}" if link.width or link.max_width else ""
            limit = f" of {most}" if most != now else ""
            kinds.setdefault(f"PCIe gen {now}{limit}{width}", []).append(gpu.id)
    if kinds:
        yield KeyValue("LINKS", (cell(", ".join(f"{names(ids)} {kind}" for kind, ids in kinds.items())),))


def _masks(told: Told) -> Iterator[Block]:
    job = told.diagnosis.job.nccl
    seen = {one.gpu: cpus_of(one.mask) for one in job.affinity} if job else {}
    said = [f"GPU {gpu}: {cpu_list(cpus)}" for gpu, cpus in list(seen.items())[:8] if cpus]
    if said:
        text = f"{listed(said)}: where NCCL binds the ranks (allowed and near the GPU)"
        yield KeyValue("CPUs", (cell(text),))


def _groups(told: Told) -> Iterator[Block]:
    job = told.diagnosis.job
    if not job.groups:
        return
    head = Row(tuple(cell(word, "dim") for word in ("TP GROUP", "RANKS", "GPUs", "SOCKETS", "WEAKEST", "GB/s", "")))
    rows = [head]
    for group in job.groups[:_MOST_GROUPS]:
        rate = told.group_rates.get(group.gpus)
        rows.append(Row((
            cell(str(group.number)), cell(_span(group.ranks)), cell(" ".join(group.gpus)), _sockets(group.seen),
            level_cell(group.seen.weakest.level if group.seen.weakest else None),
            cell(f"{rate:.4g}" if rate is not None else "-"), _island(told, group.gpus),
        )))  # fmt: skip
    columns = tuple(Column(fold=at == 2) for at in range(7))
    yield Table("", (), columns, tuple(rows), indent=0)
    if len(job.groups) > _MOST_GROUPS:
        yield KeyValue("", (cell(f"and {len(job.groups) - _MOST_GROUPS} more groups (-o json)", "dim"),))
    if told.order is not None:
        yield KeyValue("ORDER", (cell(_order(told)),))
    yield Blank()


def _order(told: Told) -> str:
    """The order as CUDA_VISIBLE_DEVICES takes it, and what each group then is."""
    assert told.order is not None
    size = told.diagnosis.job.tensor_parallel or 1
    numbers = {gpu.id: str(gpu.nvml_index) for gpu in told.diagnosis.node.gpus if gpu.nvml_index is not None}
    shown = ",".join(numbers.get(gpu, gpu) for gpu in told.order)
    cuts = [told.order[at : at + size] for at in range(0, len(told.order), size)]
    rates = [told.reckoning.gbytes(one) for one in cuts] if told.reckoning else []
    then = f": each group reaches {min(rate for rate in rates if rate is not None):.4g} GB/s in NCCL's model" if (
        rates and None not in rates) else ": better groups"  # fmt: skip
    return f"CUDA_VISIBLE_DEVICES={shown} (CUDA_DEVICE_ORDER=PCI_BUS_ID){then}, without rescheduling"


def _sockets(seen: SetSeen) -> Cell:
    role = "warning" if seen.cross_package else ""
    if seen.packages is not None:
        return cell("+".join(one.removeprefix("PKG") for one in seen.packages), role)
    if seen.numa_nodes is not None:
        return cell("NUMA " + "+".join(map(str, seen.numa_nodes)))
    return cell("?")


def _island(told: Told, gpus: Sequence[str]) -> Cell:
    linked = told.diagnosis.all_nvlink(gpus)
    if linked:
        return cell("one NVLink island")
    broken = told.diagnosis.broken_islands(gpus)
    return cell("leaves its NVLink island", "error") if broken else ()


def _better(told: Told) -> Iterator[Block]:
    if told.best:
        own, best = told.diagnosis.rates.expected, told.best_rate
        gain = ""
        if best and own:
            gain = f": {best:.4g} instead of {own:.4g} GB/s in NCCL's model"
            if best <= own:
                gain = f": {best:.4g} GB/s too in NCCL's model, moving gains CPU and NIC affinity only"
        yield KeyValue("BEST", (cell(f"{{{' '.join(told.best)}}} on an empty node{gain}"),))
    elif told.diagnosis.job.narrowed and told.diagnosis.pairs and told.diagnosis.seen.weakest is not None:
        yield KeyValue("BEST", (cell("no better set of this size on this node: moving gains nothing"),))
