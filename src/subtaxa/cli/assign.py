"""`subtaxa assign`: assign new texts to the categories of a run, on this machine or on a Ray cluster."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from subtaxa.cli.engine import check_engine_options, worker_counts
from subtaxa.cli.options import add_engine_options, add_keep, add_new_texts, add_quiet, columns_to_keep
from subtaxa.engines import check_ray
from subtaxa.errors import SettingError
from subtaxa.runtime.terminal import say
from subtaxa.settings import BACKENDS, either


def add_parser(commands: Any) -> None:
    command = commands.add_parser(
        "assign",
        help="assign new texts to the categories of a run",
        description="Assign new texts to the categories of a run. Every row of the file is kept, and every column "
        "unless --keep names fewer; columns for the category, its label, the confidence and outliers are added. The "
        "run itself does not change.",
        usage="subtaxa assign RUN FILE --out FILE [options]",
    )
    add_new_texts(command)
    add_keep(command)
    command.add_argument(
        "--out", required=True, metavar="FILE", help="file to write: .csv, .tsv, .jsonl or .parquet; - prints CSV"
    )
    command.add_argument("--overwrite", action="store_true", help="replace the output file if it exists")
    command.add_argument(
        "--backend", default="torch", metavar="NAME", help=f"how texts are encoded: {either(BACKENDS)} (default: torch)"
    )
    add_quiet(command)
    add_engine_options(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from subtaxa.runtime.progress import progress_for

    check_engine_options(options)
    arguments = {
        "text": options.text,
        "label": options.label,
        "keep": columns_to_keep(options.keep),
        "overwrite": options.overwrite,
        "progress": progress_for(quiet=options.quiet),
    }
    if options.engine == "ray":
        _assign_with_ray(options, arguments)
        return
    from subtaxa.assign import assign_file

    count = assign_file(Path(options.folder), Path(options.file), options.out, backend=options.backend, **arguments)
    if options.out != "-":
        say(_closing_line(count, options.out))


def _assign_with_ray(options: argparse.Namespace, arguments: dict[str, Any]) -> None:
    if options.backend != "torch":
        raise SettingError(
            f"--backend {options.backend} works on one machine only: leave out --backend or --engine ray"
        )
    check_ray()
    from subtaxa.engines.ray_assign import RayAssign

    engine = RayAssign(*worker_counts(options), options.address)
    count, finished = engine.assign_files(Path(options.folder), options.file, Path(options.out), **arguments)
    before = f" (partitions that an earlier run had finished: {finished:,})" if finished else ""
    say(_closing_line(count, options.out) + before)


def _closing_line(count: int, out: str) -> str:
    assigned = "1 text" if count == 1 else f"{count:,} texts"
    return f"{assigned} assigned; see {out}"
