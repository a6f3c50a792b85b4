"""`gputopo collect`: one bundle of evidence, redacted, that `gputopo inspect` reads anywhere."""

from __future__ import annotations

import os
from typing import Annotated, Optional

import typer

from gputopo.commands import options, output
from gputopo.errors import GputopoError
from gputopo.evidence.tar_headers import Member

DEFAULT_FILE = "gputopo-bundle.tar.gz"
WITH = ("kubelet",)


def command(
    file: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("-o", "--output", metavar="FILE", help=f".tar.gz, .tar.zst or .ndjson; {DEFAULT_FILE}."),
    ] = None,
    stdout: Annotated[bool, typer.Option("--stdout", help="One line of JSON on standard output instead.")] = False,
    print_script: Annotated[
        bool, typer.Option("--print-script", help="Print a POSIX sh script for nodes without Python, and end.")
    ] = False,
    extra: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--with", metavar="WHAT", help="Also collect: kubelet (its state files)."),
    ] = None,
    keep: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--keep",
            metavar="KINDS",
            help="Do not replace: host, uuid, boot, serial, mac, guid, ip, user, id, all; by commas.",
        ),
    ] = None,
    salt: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--redact-salt",
            metavar="SALT",
            envvar="GPUTOPO_REDACT_SALT",
            help="A secret of your site: equal values then stay equal over all its bundles.",
        ),
    ] = None,
    root: options.Root = None,
    driver_root: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--driver-root", metavar="DIR", help="Where the NVIDIA driver is installed."),
    ] = None,
    timeout: options.Timeout = 10.0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """One bundle of evidence of this node, names and numbers replaced; `gputopo inspect BUNDLE` reads it anywhere."""
    kept, wanted = _choices(keep, "--keep", _kinds()), _choices(extra, "--with", WITH)
    timeout = options.checked_timeout(timeout)
    if salt == "":
        raise GputopoError("--redact-salt is empty", hint="any secret of your site; without it a random one is taken")
    if print_script:
        if file is not None or stdout or wanted:
            raise GputopoError("--print-script goes to standard output", hint="gputopo collect --print-script > F.sh")
        from gputopo.evidence.collect_script import script

        output.write(script(kept, timeout), None)
        return 0
    if stdout and file is not None:
        raise GputopoError("--stdout and -o exclude one another")
    place = None if stdout else _free(file or DEFAULT_FILE, force)
    members = _bundle(root or "/", driver_root, timeout, wanted, kept, salt, quiet)
    _write(members, place, force)
    if place is not None and not quiet:
        output.say(f"wrote {place}: {len(members)} files and links; manifest.json says what is in it and what is not")
    return 0


def _kinds() -> tuple[str, ...]:
    from gputopo.evidence.redact import KINDS

    return (*KINDS, "all")


def _choices(values: list[str] | None, option: str, known: tuple[str, ...]) -> tuple[str, ...]:
    words = options.words(values)
    for word in words:
        if word not in known:
            raise GputopoError(f"{option} knows no {word!r}", hint=f"{option} {','.join(known)}")
    return words


def _free(file: str, force: bool) -> str:
    """The name, when something may be written there: said before anything is read."""
    if not file.endswith((".tar.gz", ".tgz", ".tar.zst", ".ndjson")):
        raise GputopoError("the name says how to pack it: .tar.gz, .tar.zst or .ndjson", file, "-o NODE.tar.gz")
    if file.endswith(".tar.zst"):
        from gputopo.evidence.bundle_write import zstd_compressor

        zstd_compressor()
    if os.path.lexists(file) and not force:
        raise GputopoError("the file is there already", file, "--force overwrites it")
    return file


def _bundle(
    root: str, driver_root: str | None, timeout: float, wanted: tuple[str, ...], kept: tuple[str, ...],
    salt: str | None, quiet: bool,
) -> dict[str, Member]:  # fmt: skip
    from gputopo.evidence import bundle
    from gputopo.evidence.bundle_capture import RecordingTree
    from gputopo.evidence.bundle_identities import identities
    from gputopo.evidence.bundle_surroundings import is_this_machine, known_beside, kubelet_state, printed, recording
    from gputopo.evidence.live.node import read
    from gputopo.evidence.redact import Redactor
    from gputopo.parsers.sysfs_root import parse

    slow = (lambda: None) if quiet else (lambda: output.say("waiting for the NVIDIA driver"))
    reading = read(root, driver_root, timeout, slow=slow)
    tree = RecordingTree(reading.tree)
    parse(tree)
    here = is_this_machine(reading.tree)
    parts, missed = recording(reading)
    for more, less in (printed(timeout, here), kubelet_state(reading.tree) if "kubelet" in wanted else ((), ())):
        parts, missed = (*parts, *more), (*missed, *less)
    missed = (*missed, *(bundle.NotRead(f"{bundle.ROOT}/{path}", why) for path, why in tree.unread.items()))
    known = identities(reading.tree, os.environ if here else None)
    redactor = Redactor(os.urandom(32) if salt is None else salt.encode("utf-8", "surrogateescape"), kept, known)
    collected = bundle.Collected(tree.members(), parts, missed, known_beside(reading))
    members = bundle.members(collected, redactor, salted=salt is not None)
    reading.tree.close()
    derived = _derived(members)
    return members if derived is None else {**members, "inspect.json": derived}


def _derived(members: dict[str, Member]) -> Member | None:
    """What `gputopo inspect` says of the bundle, for those who have only that."""
    from gputopo.documents.node import encode
    from gputopo.evidence.archive import ArchiveTree
    from gputopo.evidence.bundle_live import readings
    from gputopo.evidence.bundle_read import pieces
    from gputopo.evidence.tree import FILE
    from gputopo.inspection import inspect_reading
    from gputopo.reports.json import render

    try:
        found = [inspect_reading(one) for one in readings(pieces(ArchiveTree(members, None), "bundle"))]
    except GputopoError:  # its reader will be told the same
        return None
    if len(found) != 1:
        return None
    document = encode(found[0].node, found[0].findings, found[0].not_checked)
    return Member(FILE, data=render(document).encode())


def _write(members: dict[str, Member], file: str | None, force: bool) -> None:
    from gputopo.evidence.bundle_write import record, tar_gz, tar_zst

    if file is None:
        output.write(record(members), None)
        return
    if file.endswith(".ndjson"):
        data = record(members).encode()
    else:
        data = tar_zst(members) if file.endswith(".tar.zst") else tar_gz(members)
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if force else os.O_EXCL)
    try:
        with open(os.open(file, flags, 0o666), "wb") as out:
            out.write(data)
    except FileExistsError:
        raise GputopoError("the file is there already", file, "--force overwrites it") from None
    except OSError as error:
        raise GputopoError(f"cannot write: {(error.strerror or str(error)).lower()}", file) from error


