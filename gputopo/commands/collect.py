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
_SCRIPT_HINTS = {
    "--with": "the kubelet's state needs gputopo collect",
    "--root": "on the node: ROOT=/host sh F.sh",
    "--driver-root": "the script asks nvidia-smi, where it is on the PATH",
}


def command(
    file: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "-o", "--output", "--output-file", metavar="FILE",
            help=f"NAME.tar.gz, .tar.zst or .ndjson; without it {DEFAULT_FILE}.",
        ),
    ] = None,
    stdout: Annotated[
        bool, typer.Option("--stdout", help="Write no file: one line of JSON on standard output, for a pipe.")
    ] = False,
    print_script: Annotated[
        bool, typer.Option("--print-script", help="Print a POSIX sh script that does it on a node without Python.")
    ] = False,
    extra: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option("--with", metavar="WHAT", help="Also: kubelet (its state files; root)."),
    ] = None,
    keep: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--keep",
            metavar="KINDS",
            help="Leave as they are: host, uuid, boot, serial, mac, guid, ip, user, id, pod, all; by commas.",
        ),
    ] = None,
    salt: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--redact-salt",
            metavar="SALT",
            envvar="GPUTOPO_REDACT_SALT",
            help="A secret of your site: equal values stay equal over all its bundles.",
        ),
    ] = None,
    root: options.Root = None,
    driver_root: options.DriverRoot = None,
    timeout: options.Timeout = 10.0,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
    quiet: options.Quiet = False,
) -> int:
    """Write a bundle of this node's evidence, with its names and numbers replaced.

    `gputopo inspect BUNDLE` reads it anywhere.
    """
    kept, wanted = _choices(keep, "--keep", _kinds()), _choices(extra, "--with", WITH)
    timeout = options.checked_timeout(timeout)
    if salt == "":
        raise GputopoError("--redact-salt is empty", hint="any secret of your site; without it a random one is taken")
    if print_script:
        if file is not None or stdout:
            raise GputopoError("--print-script goes to standard output", hint="gputopo collect --print-script > F.sh")
        for option, given in (("--with", wanted), ("--root", root), ("--driver-root", driver_root)):
            if given:
                raise GputopoError(f"{option} is not for --print-script", hint=_SCRIPT_HINTS[option])
        from gputopo.evidence.collect_script import script

        output.write(script(kept, timeout), None)
        if salt is not None and not quiet:
            output.say("the script takes no salt: its values are equal within one record only")
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
    folder = os.path.dirname(file) or "."
    if not os.path.isdir(folder):
        raise GputopoError("no such folder", folder, f"mkdir -p {folder}")
    if not os.access(folder, os.W_OK):
        raise GputopoError("this folder cannot be written", folder, "-o FILE somewhere else")
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
    from gputopo.evidence.bundle_surroundings import (
        is_this_machine,
        known_beside,
        kubelet_state,
        printed,
        recording,
        snapshot,
    )
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
    known = identities(reading.tree, os.environ if here else None, snapshot(reading))
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
    _save(data, file, force)


def _save(data: bytes, file: str, force: bool) -> None:
    """Whole or not at all. Without --force the name is taken at once, so that no other file is lost."""
    place = f"{file}.{os.getpid()}" if force else file
    try:
        out = open(place, "xb")  # noqa: SIM115
    except OSError as error:
        raise _cannot_write(error, file) from None
    try:
        with out:
            out.write(data)
        if force:
            os.replace(place, file)
    except OSError as error:
        os.unlink(place)
        raise _cannot_write(error, file) from error


def _cannot_write(error: OSError, file: str) -> GputopoError:
    if isinstance(error, FileExistsError):
        return GputopoError("the file is there already", file, "--force overwrites it")
    return GputopoError(f"cannot write: {(error.strerror or str(error)).lower()}", file)
