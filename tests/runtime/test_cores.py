"""The number of cores follows the quotas of control groups, and waiting threads are told to sleep."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subtaxa.runtime import control_groups, cores
from subtaxa.runtime.cores import cpu_quota, share_cores


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of control groups without quotas, in which this process is in shop/web."""
    monkeypatch.setattr(control_groups, "CONTROL_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(control_groups, "OWN_GROUPS", tmp_path / "own")
    (tmp_path / "own").write_text("4:memory:/other\n3:cpu:/old\n0::/shop/web\n")
    for folder in ("shop/web", "other", "cpu/old"):
        (tmp_path / "groups" / folder).mkdir(parents=True)
    return tmp_path / "groups"


def test_without_a_quota_there_is_no_limit(groups: Path) -> None:
    assert cpu_quota() is None
    (groups / "shop" / "web" / "cpu.max").write_text("max 100000\n")
    (groups / "other" / "cpu.max").write_text("100000 100000\n")  # This is not the group of this process.
    assert cpu_quota() is None
    control_groups.OWN_GROUPS.unlink()  # as on macOS and Windows
    assert cpu_quota() is None


@pytest.mark.parametrize(("content", "expected"), [("200000 100000", 2), ("150000 100000", 2), ("5000 100000", 1)])
def test_a_quota_is_rounded_up_and_limits_the_cores(groups: Path, content: str, expected: int) -> None:
    (groups / "shop" / "web" / "cpu.max").write_text(f"{content}\n")
    assert cpu_quota() == expected
    assert cores.cores() <= expected


def test_the_smallest_quota_of_all_groups_above_counts(groups: Path) -> None:
    (groups / "shop" / "web" / "cpu.max").write_text("800000 100000\n")
    (groups / "shop" / "cpu.max").write_text("300000 100000\n")
    (groups / "cpu.max").write_text("500000 100000\n")
    (groups.parent / "cpu.max").write_text("100000 100000\n")  # This is outside the groups.
    assert cpu_quota() == 3


def test_a_container_has_its_quota_at_the_top(groups: Path) -> None:
    control_groups.OWN_GROUPS.write_text("0::/\n")
    (groups / "cpu.max").write_text("100000 100000\n")
    assert cpu_quota() == 1


@pytest.mark.parametrize(("quota", "expected"), [("250000", 3), ("-1", None)])
def test_the_first_version_of_control_groups_counts_too(groups: Path, quota: str, expected: int | None) -> None:
    (groups / "cpu" / "old" / "cpu.cfs_quota_us").write_text(f"{quota}\n")
    (groups / "cpu" / "old" / "cpu.cfs_period_us").write_text("100000\n")
    assert cpu_quota() == expected


@pytest.mark.parametrize("content", ["", "many few", "100000", "100000 0"])
def test_a_quota_that_cannot_be_read_does_not_count(groups: Path, content: str) -> None:
    (groups / "cpu.max").write_text(content)
    assert cpu_quota() is None


@pytest.mark.parametrize(("quota", "more"), [(None, {}), (4, {}), (8, {}), (1, {"OMP_NUM_THREADS": "1"})])
def test_a_quota_below_the_affinity_limits_the_threads(
    monkeypatch: pytest.MonkeyPatch, quota: int | None, more: dict[str, str]
) -> None:
    monkeypatch.setattr(cores, "cpu_quota", lambda: quota)
    monkeypatch.setattr(cores, "_affinity", lambda: 4)
    environment: dict[str, str] = {}
    share_cores(environment)
    assert environment == cores.PATIENT | more


def test_the_variables_of_the_user_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "cpu_quota", lambda: 1)
    environment = {"GOMP_SPINCOUNT": "7", "OMP_NUM_THREADS": "3"}
    share_cores(environment)
    assert environment == cores.PATIENT | {"GOMP_SPINCOUNT": "7", "OMP_NUM_THREADS": "3"}


def test_the_command_line_sets_the_variables_before_torch_is_loaded() -> None:
    code = """if True:
        import os, sys
        from subtaxa.cli.main import main

        class Watcher:
            def find_spec(self, name, path=None, target=None):
                if name == "torch":
                    print("torch is loaded with", os.environ.get("GOMP_SPINCOUNT"))

        sys.meta_path.insert(0, Watcher())
        main(["methods"])
    """
    environment = {name: value for name, value in os.environ.items() if name not in cores.PATIENT}
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert "torch is loaded with 1000" in done.stdout
