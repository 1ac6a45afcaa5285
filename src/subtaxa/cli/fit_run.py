"""What `discover` and `demo` share: read the texts, find the categories, write the run folder and show the result."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from subtaxa.cli.categories_option import parse_categories
from subtaxa.cli.engine import training_engine
from subtaxa.cli.exits import RESUME
from subtaxa.cli.options import add_engine_options, add_preset, add_quiet, add_settings, given_settings
from subtaxa.runtime.durations import parse_duration
from subtaxa.runtime.imports import without_garbage_collection
from subtaxa.runtime.terminal import say
from subtaxa.settings import NAMES, whole_number

if TYPE_CHECKING:
    from subtaxa.data.kept_columns import KeptColumns
    from subtaxa.data.texts import CoarseTexts
    from subtaxa.discovery import Discovery
    from subtaxa.training.fit_encoder import Engine


def add_options(command: argparse.ArgumentParser, out: str | None) -> None:
    """Add everything but the input; `out` is the default run folder, or None if the user must give one."""
    default = f" (default: {out})" if out else ""
    command.add_argument(
        "--out", default=out, required=out is None, metavar="FOLDER", help=f"where to write the run{default}"
    )
    command.add_argument(
        "--categories",
        default="auto",
        metavar="N",
        help='number of categories in all, or for some labels as in "billing=12,login=5" (default: auto, estimated)',
    )
    command.add_argument(
        "--granularity",
        default="normal",
        metavar="X",
        help="coarse, normal or fine: prefer fewer or more categories where the number is estimated (default: normal)",
    )
    add_preset(command)
    command.add_argument("--seed", default="0", metavar="N", help="seed; the same seed gives the same run (default: 0)")
    command.add_argument(
        "--time-limit",
        metavar="TIME",
        help="about how long the command may take, such as 60s or 5m: training ends early (default: no limit)",
    )
    command.add_argument("--resume", action="store_true", help="continue a run that was stopped")
    command.add_argument("--overwrite", action="store_true", help="replace an existing run in the folder")
    add_quiet(command)
    add_engine_options(command)
    add_settings(command, NAMES, "settings (they override the preset)")


def fit_and_save(options: argparse.Namespace, read: Callable[[], tuple[CoarseTexts, KeptColumns]]) -> Discovery | None:
    """Run the command while the folder is locked. Returns None if the run was already finished."""
    from subtaxa.runtime.folder_lock import exclusive
    from subtaxa.runtime.signals import force_exit_after_signal

    message = f"subtaxa: stopped{RESUME}"
    with training_engine(options) as engine, exclusive(Path(options.out)), force_exit_after_signal(message):
        return _fit_and_save(options, read, engine)


def _fit_and_save(
    options: argparse.Namespace, read: Callable[[], tuple[CoarseTexts, KeptColumns]], engine: Engine
) -> Discovery | None:
    from subtaxa.runs import layout, staging, target
    from subtaxa.runs.checkpoint_identity import check_not_superseded
    from subtaxa.runtime.progress import progress_for

    began, out, progress = time.monotonic(), Path(options.out), progress_for(quiet=options.quiet)
    limit = None if options.time_limit is None else parse_duration(options.time_limit, "--time-limit")
    staging.recover(out)
    target.check_target(out, overwrite=options.overwrite, resume=options.resume)
    staging.remove_leftovers(out)
    if options.resume and (out / layout.RUN).exists() and not options.overwrite:
        check_not_superseded(out)
        target.clear_checkpoint(out)
        say(f"{out} is already finished; open {out / layout.REPORT}")
        return None
    with progress.step("Reading the file"):
        data, columns = read()
    for line in data.describe():
        progress.say(line)
    if columns:
        progress.say("other columns: " + ", ".join(f"{name} ({kind})" for name, kind in columns.kinds.items()))
    with progress.step("Starting up"), without_garbage_collection():
        from subtaxa.discovery import Discovery

    model = Discovery(
        parse_categories(options.categories),
        granularity=options.granularity,
        preset=options.preset,
        seed=whole_number(options.seed, "--seed"),
        **given_settings(options),
    )
    if not options.resume:
        target.clear_checkpoint(out)
    left = None if limit is None else limit - (time.monotonic() - began)
    checkpoint = out / layout.CHECKPOINT
    model.fit(data, columns=columns, progress=progress, checkpoint=checkpoint, engine=engine, time_limit=left)
    with progress.step("Writing the run"):
        model.save(out, overwrite=True, command=shlex.join(["subtaxa", *sys.argv[1:]]))
    target.clear_checkpoint(out)
    say(str(model.taxonomy_))
    say(f"\n{len(model.taxonomy_)} categories in {len(model.coarse_labels_)} labels; open {out / layout.REPORT}")
    return model
