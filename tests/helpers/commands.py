"""Commands that must fail."""

from __future__ import annotations

import pytest


def refused(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """Run a command that must fail with exit code 2 and one line on stderr. Returns that line."""
    from subtaxa.cli.main import main

    capsys.readouterr()
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    error = capsys.readouterr().err
    assert code == 2, error
    assert error.startswith("subtaxa")
    assert error.count("\n") == 1
    return error
