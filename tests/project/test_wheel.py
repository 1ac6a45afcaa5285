"""Wheel and sdist are built, and the installed wheel works in an environment without the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import subtaxa

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "src")


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build from a copy of the sources, so that nothing is left in the checkout."""
    folder = tmp_path_factory.mktemp("build")
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=skipped)
        else:
            shutil.copy(source, folder)
    call = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


def package_files() -> set[str]:
    """Return every file of the package, relative to `src`."""
    files = (path for path in (ROOT / "src" / "subtaxa").rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT / "src")) for path in files if "__pycache__" not in path.parts}


def test_the_wheel_has_every_file_of_the_package(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    assert wheel.name == f"subtaxa-{subtaxa.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("subtaxa/")}
    assert names == package_files()


def test_the_sdist_has_them_too(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/src/")[2] for name in archive.getnames() if "/src/subtaxa/" in name}
    assert package_files() <= names


def test_the_installed_wheel_runs_the_demo(dist: Path, tmp_path: Path) -> None:
    """The environment sees the installed dependencies, but neither this checkout nor its editable install."""
    venv.create(tmp_path / "env", symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PIP_"))}
    (wheel,) = dist.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True, env=environment)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")

    def run(*arguments: str) -> str:
        call = [str(python), *arguments]
        done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-c", "import subtaxa; print(subtaxa.__file__)").strip() == str(packages / "subtaxa" / "__init__.py")
    program = str(tmp_path / "env" / "bin" / "subtaxa")
    assert run(program, "--version").strip().endswith(subtaxa.__version__)
    given = ("--preset", "quick", "--epochs", "1", "--categories", "50")
    shown = run(program, "demo", *given, "--out", "demo", "--quiet")
    assert re.search(r"\d+ categories in 8 labels; open demo/report\.html", shown)
    assert "<script" in (tmp_path / "demo" / "report.html").read_text("utf-8")
    assert float(shown.split("ACC ")[1].split()[0]) > 50  # Far above chance: the example has about fifty categories.
