"""Every file is in the table of its folder, and every row of a table has its file."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from gputopo.cli import VERBS
from gputopo.commands.allocate import MECHANISMS, present
from gputopo.parsers.formats import BESIDE, FORMATS
from gputopo.parsers.formats_jobs import JOBS
from gputopo.parsers.recognise import module_of
from gputopo.rules.codes import MODULES, load
from tests.test_rooms import NOT_FORMATS

PACKAGE = Path(__file__).parent.parent / "gputopo"


def modules(folder: str) -> set[str]:
    """Modules and packages of a folder."""
    found = {path.stem for path in (PACKAGE / folder).glob("*.py")} - {"__init__"}
    return found | {path.parent.name for path in (PACKAGE / folder).glob("*/__init__.py")}


def test_formats() -> None:
    modules_of_rows = {row.module for row in (*FORMATS, *BESIDE, *JOBS) if row.module}
    assert modules("parsers") - NOT_FORMATS - {"recognise", "recognise_holdings", "recognise_job"} == modules_of_rows


@pytest.mark.parametrize("row", [row for row in (*FORMATS, *BESIDE, *JOBS) if row.module], ids=lambda row: row.id)
def test_a_format_has_what_the_table_needs(row) -> None:  # type: ignore[no-untyped-def]
    module = module_of(row)
    assert callable(module.parse)
    assert (module.__doc__ or "").strip()
    if row.needles:
        assert module.sniff("") is False
    assert row.what
    assert row.tells
    assert row.cannot


def test_format_ids_are_unique() -> None:
    assert len({row.id for row in (*FORMATS, *BESIDE, *JOBS)}) == len(FORMATS) + len(BESIDE) + len(JOBS)


@pytest.mark.parametrize("code", MODULES)
def test_a_rule_calls_itself_as_the_table_does(code: str) -> None:
    assert code == load(code).CODE


def test_verbs() -> None:
    not_verbs = {
        "failure", "options", "output", "complete", "completion_scripts", "generated", "man", "allocate_options",
        "allocate_plugin_config", "allocate_kubelet_options", "allocate_objects", "allocate_sources",
        "allocate_holdings", "allocate_place", "allocate_reading", "allocate_scheduler", "allocate_otherwise",
        "allocate_dra_objects", "lint_reading", "allocate_fleet", "allocate_fleet_askers", "allocate_fleet_dra",
        "allocate_fleet_options", "allocate_fleet_reading", "allocate_kubelet_question", "allocate_plugin_asked",
        "progress", "deadline", "lint_fix", "pods_watch", "inspect_watch", "inspect_bandwidth", "check_reading",
        "export_prometheus", "export_listen", "diagnose_logs", "fleet_map", "fleet_state", "configuration",
    }  # fmt: skip
    mechanisms = {MECHANISMS[name][0] for name in present()}
    assert {module for module, _ in VERBS.values()} | mechanisms == {
        f"gputopo.commands.{name}" for name in modules("commands") - not_verbs
    }


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_a_command_with_help(verb: str) -> None:
    from importlib import import_module

    module, summary = VERBS[verb]
    loaded = import_module(module)
    assert hasattr(loaded, "group") or inspect.getdoc(loaded.command)
    assert summary.endswith(".")
