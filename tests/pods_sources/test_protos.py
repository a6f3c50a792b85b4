"""The generated messages are those of the .proto files beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gputopo.protos import __main__ as protos


def test_they_are_current() -> None:
    pytest.importorskip("grpc_tools", reason="needs grpcio-tools (gputopo[dev])")
    assert protos.main(["--check"]) == 0


def test_a_stale_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:  # fmt: skip
    monkeypatch.setattr(protos, "HERE", tmp_path)
    monkeypatch.setattr(protos, "generated", lambda: {"a_pb2.py": "new", "b_pb2.py": "same"})
    (tmp_path / "a_pb2.py").write_text("old")
    (tmp_path / "b_pb2.py").write_text("same")
    (tmp_path / "gone_pb2.pyi").write_text("")
    assert protos.main(["--check"]) == 1
    assert [Path(line.split()[0]).name for line in capsys.readouterr().err.splitlines()] == ["a_pb2.py", "gone_pb2.pyi"]
    (tmp_path / "gone_pb2.pyi").unlink()
    assert protos.main(["--write"]) == 0
    assert protos.main(["--check"]) == 0


def test_usage() -> None:
    assert protos.main([]) == 2
