"""gputopo against a real kube-apiserver and etcd: how fast, how large, and with which permissions.

    python -m e2e.run [--nodes N] [--rbac FILE] [--only audit|rbac|deploy|serve] [--release V]

Prints a line for each thing that was tried. Exit 0: all as promised. 1: something was not. 2: it could not be run,
for instance without Go. `--only serve` loads the cluster and leaves it until Ctrl-C, to be tried by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from conformance.gobuild import BuildError
from e2e import answer, beside, build, command, deploy, load, objects, roles, servers
from e2e.api import Api, Refused

NODES = 50  # with ten pods each
MOST_SECONDS, MOST_BYTES = 5.0, 300_000_000
_MB = 1_000_000
_DRA = "/apis/resource.k8s.io/v1"
_LISTS = ("/api/v1/nodes", "/api/v1/pods", f"{_DRA}/resourceclaims", f"{_DRA}/resourceslices",
          "/api/v1/namespaces/gpu-operator/configmaps")  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="e2e.run", description="gputopo against a real API server.")
    parser.add_argument("--nodes", type=int, default=NODES, help=f"with ten pods each; {NODES}")
    parser.add_argument("--rbac", type=Path, default=roles.FILE, help="the objects that give permission")
    parser.add_argument("--only", choices=("audit", "rbac", "deploy", "serve"), help="not everything")
    parser.add_argument("--release", default=build.RELEASE, help=f"of Kubernetes; {build.RELEASE}")
    options = parser.parse_args(arguments)
    try:
        if options.only in (None, "rbac") and not options.rbac.is_file():
            raise BuildError(f"there is no {options.rbac}")
        executables = build.build(options.release)
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # the servers end also when this is ended
        with tempfile.TemporaryDirectory(prefix="gputopo-e2e-") as folder:
            return int(not _all(options, executables, Path(folder)))
    except (BuildError, Refused, TimeoutError, ValueError) as error:
        print(f"e2e: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _all(options: argparse.Namespace, executables: build.Servers, folder: Path) -> bool:
    started = time.monotonic()
    with servers.cluster(executables, folder) as api:
        ready = time.monotonic()
        made = objects.cluster(options.nodes)
        made = made._replace(names=made.names | load.load(api, made))
        beside.load(api, made.nodes[0]["metadata"]["name"])
        claims = sum(one.claim is not None for one in made.pods)
        say(f"kube-apiserver {options.release} ready in {ready - started:.1f} s; {len(made.nodes)} nodes, "
            f"{len(made.pods)} pods, {claims} claims, {len(made.slices)} slices loaded in "
            f"{time.monotonic() - ready:.1f} s")  # fmt: skip
        kubeconfig = api.kubeconfig(folder / "admin.kubeconfig")
        if options.only == "serve":
            say(f"gputopo pods --kube -A --kubeconfig {kubeconfig}   (Ctrl-C ends the servers)")
            while True:
                time.sleep(3600)
        failures: list[str] = []
        if options.only in (None, "audit"):
            failures += [*audit(kubeconfig, made), *saved(api, folder, made)]
        if options.only in (None, "rbac"):
            failures += permissions(api, folder, made, options.rbac)
        if options.only in (None, "deploy"):
            failures += deploy.deploy(api)
    for one in failures:
        say(f"FAILED: {one}")
    return not failures


def say(text: str) -> None:
    print(f"e2e: {text}", flush=True)


def audit(kubeconfig: Path, made: objects.Cluster) -> Iterator[str]:
    """What is wrong with the list of all pods, as the administrator. The second run counts: the first fills caches."""
    command.asked(kubeconfig)
    done = command.asked(kubeconfig)
    say(f"gputopo {' '.join(command.PODS)}: exit {done.status}, {done.wall:.1f} s (limit {MOST_SECONDS:g}), "
        f"{done.cpu:.1f} s of CPU, {done.peak / _MB:.0f} MB (limit {MOST_BYTES / _MB:.0f})")  # fmt: skip
    if done.trouble:
        yield f"gputopo pods: {done.trouble}"
        return
    if done.wall > MOST_SECONDS:
        yield f"{done.wall:.1f} s is more than {MOST_SECONDS:g}"
    if done.peak > MOST_BYTES:
        yield f"{done.peak / _MB:.0f} MB is more than {MOST_BYTES / _MB:.0f}"
    different = list(answer.wrong(done.items, made))
    right = sum(bool(pod.gpus) for pod in made.pods)
    say(f"{len(done.items)} nodes, {right} pods with GPUs: {len(different) or 'no'} differences")
    yield from different[:10]


def saved(api: Api, folder: Path, made: objects.Cluster) -> Iterator[str]:
    """What is wrong with the same objects out of a file, as kubectl saves them."""
    file = folder / "objects.json"
    items = [item for path in _LISTS for item in load.listed(api, path)]
    file.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}), encoding="utf-8")
    done = command.read(file)
    say(f"the same out of a file of {file.stat().st_size / _MB:.0f} MB: exit {done.status}, {done.cpu:.1f} s of CPU, "
        f"{done.peak / _MB:.0f} MB")  # fmt: skip
    if done.trouble:
        yield f"gputopo pods FILE: {done.trouble}"
    else:
        yield from list(answer.wrong(done.items, made))[:10]


def permissions(api: Api, folder: Path, made: objects.Cluster, file: Path) -> Iterator[str]:
    """Whether the role is enough, and whether every permission of it is needed."""
    account, found = roles.apply(api, roles.read(file))
    kubeconfig = api.kubeconfig(folder / "account.kubeconfig", roles.token(api, account))
    for role in found:
        roles.grant(api, account, role, without=None)
    whole = command.asked(kubeconfig)
    if whole.trouble or list(answer.wrong(whole.items, made)):
        yield f"with {file.name}: {whole.trouble or 'another answer'}"
        return
    say(f"the role of {file.name} is enough for {account.user}: the same answer")
    for role in found:
        for permission in role.permissions:
            roles.grant(api, account, role, without=permission)
            done = command.asked(kubeconfig)
            named = _names(done, permission)
            say(f"without {permission}: exit {done.status}: {first_line(named) or 'not named'}")
            if not named:
                yield f"without {permission} nothing fails by name: exit {done.status}, {first_line(done.errors)}"
        roles.grant(api, account, role, without=None)


def _names(done: command.Done, permission: roles.Permission) -> str:
    """The line that says which permission is missing: an error, or what the answer does not know without it."""
    wanted = {permission.verb, permission.resource}
    return next((line for line in done.errors.splitlines() if wanted <= set(re.findall(r"[\w/]+", line))), "")


def first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0].strip()[:200]


if __name__ == "__main__":
    raise SystemExit(main())
