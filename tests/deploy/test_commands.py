"""Every command of deploy/ is one that this gputopo understands, and every path in its README is there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.deploy.commands import after, check_parses
from tests.deploy.kustomized import DEPLOY
from tests.deploy.test_kubernetes import SPECS

README = (DEPLOY / "README.md").read_text()
ROOT = DEPLOY.parent


def commands() -> dict[str, list[str]]:
    """What follows `gputopo` in every example, argument list and unit file."""
    found: dict[str, list[str]] = {}
    texts = re.findall(r"^\$ (.*)$", README, re.MULTILINE)
    texts += re.findall(r"^# +(gputopo .*)$", (DEPLOY / "kubernetes/job.yaml").read_text(), re.MULTILINE)
    texts += re.findall(r"^ExecStart=(.*)$", (DEPLOY / "prometheus/gputopo-metrics.service").read_text(), re.MULTILINE)
    for text in texts:
        words = after(shlex.split(text, comments=True))
        # kubectl and helm have objects of this name, clush a file
        if words and not text.startswith(("helm ", "kubectl logs", "kubectl apply", "clush -g gpu --copy")):
            found[text] = words
    for name, spec in SPECS.items():
        found[f"args of {name}"] = [word.replace("$(NODE_NAME)", "n") for word in spec["containers"][0]["args"]]
    detector = json.loads((DEPLOY / "node-problem-detector/gputopo.json").read_text())
    found["node-problem-detector"] = detector["rules"][0]["args"]
    [play] = yaml.safe_load((DEPLOY / "ansible/collect.yml").read_text())
    for task in play["tasks"][1]["block"]:
        argv = task.get("ansible.builtin.command", {}).get("argv")
        if argv:
            found[f"ansible: {task['name']}"] = [str(word) for word in argv[2:]]
    found["Containerfile"] = json.loads(re.findall(r"^CMD (.*)$", (DEPLOY / "container/Containerfile").read_text(),
                                                   re.MULTILINE)[0])  # fmt: skip
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    found["pre-commit"] = [*shlex.split(hooks[0]["entry"])[1:], "x.yaml"]
    return found


COMMANDS = commands()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_understood(name: str) -> None:
    check_parses(COMMANDS[name])


def test_there_are_as_many_commands_as_a_reader_sees() -> None:
    """So that a pattern that finds nothing cannot pass."""
    assert len(COMMANDS) >= 20
    assert {words[0] for words in COMMANDS.values()} >= {"export", "collect", "inspect", "pods", "check", "lint"}


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README))))
def test_a_link_of_the_readme_leads_somewhere(link: str) -> None:
    assert (DEPLOY / link).exists()


def test_every_file_is_in_the_readme_or_below_a_folder_that_is() -> None:
    links = {link.rstrip("/") for link in re.findall(r"\]\(([^)#:]+)\)", README)}
    for path in DEPLOY.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            place = path.relative_to(DEPLOY)
            above = {str(place), *(str(one) for one in place.parents)}
            kustomized = (path.parent / "kustomization.yaml").exists()
            special = place.name in ("README.md", "pyz.py", "Containerfile.dockerignore")
            assert above & links or kustomized or special, place


def test_every_heading_of_the_table_is_a_paragraph() -> None:
    anchors = set(re.findall(r"\]\(#([^)]+)\)", README))
    headings = {re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-")
                for one in re.findall(r"^## (.*)$", README, re.MULTILINE)}  # fmt: skip
    assert anchors == headings


def files() -> list[Path]:
    found = [path for path in DEPLOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return [*found, ROOT / ".pre-commit-hooks.yaml"]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_names_a_registry(path: Path) -> None:
    """Images and packages come from where whoever deploys them says."""
    text = path.read_text()
    hosts = r"\b(docker\.io|ghcr\.io|quay\.io|nvcr\.io|gcr\.io|registry\.k8s\.io|pypi\.org|pythonhosted|index-url)\b"
    assert not re.search(hosts, text)
    images = re.findall(r"^\s*(?:- )?image: *(.*)$", text, re.MULTILINE)
    assert all(one in ("IMAGE", '""') or one.startswith("{{ required ") for one in images)


def test_the_image_is_built_for_nobody_in_particular() -> None:
    text = (DEPLOY / "container/Containerfile").read_text()
    assert set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) == {"${BASE}"}
    assert re.search(r"^USER 65532:65532$", text, re.MULTILINE)
    assert text.index("USER") > text.rindex("FROM")
    needed = {line.lstrip("!") for line in (DEPLOY / "container/Containerfile.dockerignore").read_text().split("\n")
              if line.startswith("!")}  # fmt: skip
    copied = {word for line in re.findall(r"^COPY (?!--)(.*)$", text, re.MULTILINE) for word in line.split()[:-1]}
    assert copied == needed
    assert all((ROOT / word).exists() for word in copied)
    assert "linux/amd64,linux/arm64" in text
