"""The number of cores follows the quotas of control groups, and waiting threads are told to sleep."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subtaxa.runtime import cores
from subtaxa.runtime.cores import cpu_quota, share_cores


@pytest.fixture
def groups(tmp_path: Path) -> tuple[Path, Path]:
    """The list of a process's groups, and a tree of groups without quotas."""
    own = tmp_path / "own"
    own.write_text("3:cpu:/old\n0::/shop/web\n")
    (tmp_path / "groups" / "shop" / "web").mkdir(parents=True)
    return own, tmp_path / "groups"


def test_without_a_quota_there_is_no_limit(groups: tuple[Path, Path], tmp_path: Path) -> None:
    own, tree = groups
    assert cpu_quota(own, tree) is None
    (tree / "shop" / "web" / "cpu.max").write_text("max 100000\n")
    assert cpu_quota(own, tree) is None
    assert cpu_quota(tmp_path / "none", tree) is None  # as on macOS and Windows


@pytest.mark.parametrize(("content", "expected"), [("200000 100000", 2), ("150000 100000", 2), ("5000 100000", 1)])
def test_a_quota_is_rounded_up(groups: tuple[Path, Path], content: str, expected: int) -> None:
    own, tree = groups
    (tree / "shop" / "web" / "cpu.max").write_text(f"{content}\n")
    assert cpu_quota(own, tree) == expected


def test_the_smallest_quota_of_all_groups_above_counts(groups: tuple[Path, Path]) -> None:
    own, tree = groups
    (tree / "shop" / "web" / "cpu.max").write_text("800000 100000\n")
    (tree / "shop" / "cpu.max").write_text("300000 100000\n")
    (tree / "cpu.max").write_text("500000 100000\n")
    assert cpu_quota(own, tree) == 3
    (tree.parent / "cpu.max").write_text("100000 100000\n")  # This is outside the groups.
    assert cpu_quota(own, tree) == 3


def test_a_group_of_its_own_namespace_has_its_quota_at_the_top(groups: tuple[Path, Path]) -> None:
    own, tree = groups
    own.write_text("0::/\n")  # as in a container
    (tree / "cpu.max").write_text("100000 100000\n")
    assert cpu_quota(own, tree) == 1


@pytest.mark.parametrize("content", ["", "many few", "100000", "100000 0"])
def test_a_quota_that_cannot_be_read_does_not_count(groups: tuple[Path, Path], content: str) -> None:
    own, tree = groups
    (tree / "cpu.max").write_text(content)
    assert cpu_quota(own, tree) is None


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
    environment = {"OMP_WAIT_POLICY": "ACTIVE", "OMP_NUM_THREADS": "3"}
    share_cores(environment)
    assert environment == cores.PATIENT | {"OMP_WAIT_POLICY": "ACTIVE", "OMP_NUM_THREADS": "3"}


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
    assert "torch is loaded with 0" in done.stdout
