"""The command line. The only place that prints; every user error ends here as one sentence and exit code 2."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from subtaxa import __version__
from subtaxa.cli.engine_options import add_engine, check_launched, engine_for
from subtaxa.cli.exits import RESUME, failed, stopped, watch_signals
from subtaxa.runtime.launcher import first
from subtaxa.runtime.signals import Stopped
from subtaxa.runtime.terminal import printable, say
from subtaxa.settings import BACKENDS, NAMES, PRESETS, about, whole_number

EXAMPLE = Path(__file__).parents[1] / "data" / "example"


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of printing the whole usage."""

    def error(self, message: str) -> NoReturn:
        told = printable(f"{self.prog}: {message} (see {self.prog} --help)")
        self.exit(2, f"{told}\n" if first() else None)


def parser() -> argparse.ArgumentParser:
    root = _Parser(prog="subtaxa", description="Find the fine-grained categories hidden inside coarse labels.")
    root.add_argument("--version", action="version", version=f"subtaxa {__version__}")
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)

    discover = commands.add_parser(
        "discover",
        help="find the categories in a file of labelled texts",
        usage="subtaxa discover FILE --out FOLDER [options]",
    )
    discover.add_argument("file", help="CSV, TSV, JSONL or Parquet, also .gz")
    discover.add_argument("--text", metavar="COLUMN", help="the column of the texts")
    discover.add_argument("--label", metavar="COLUMN", help="the column of the coarse labels")
    discover.add_argument("--strict", action="store_true", help="refuse the file if any row has to be skipped")
    _add_run_options(discover, out=None)
    discover.set_defaults(run=_discover)

    demo = commands.add_parser(
        "demo", help="the same on the built-in example of support messages", usage="subtaxa demo [options]"
    )
    _add_run_options(demo, out="demo")
    demo.set_defaults(run=_demo)

    assign = commands.add_parser("assign", help="file new texts into the categories of a run")
    _add_new_texts(assign)
    assign.add_argument("--out", required=True, metavar="FILE", help=".csv, .tsv, .jsonl or .parquet; - prints CSV")
    assign.add_argument("--overwrite", action="store_true", help="replace the output file if it exists")
    assign.add_argument("--backend", default="torch", help=f"{' or '.join(BACKENDS)} (default: torch)")
    add_engine(assign)
    assign.set_defaults(run=_assign)

    update = commands.add_parser("update", help="add new texts to a run; new categories are proposed")
    _add_new_texts(update)
    update.set_defaults(run=_update)

    info = commands.add_parser("info", help="what a run found and how")
    info.add_argument("folder", metavar="run", help="the folder that discover wrote")
    info.add_argument("--outliers", action="store_true", help="list the texts that fit nowhere")
    info.set_defaults(run=_info)

    from subtaxa.cli import edit

    for command in edit.add_commands(commands):
        command.set_defaults(run=_edit)

    from subtaxa.cli import name

    name.add_command(commands).set_defaults(run=_name)

    methods = commands.add_parser("methods", help="the training methods there are")
    methods.set_defaults(run=_methods)

    bench = commands.add_parser("bench", help="compare methods on data with known fine labels, as the paper does")
    from subtaxa.cli.bench import add_commands

    add_commands(bench, _Parser)
    bench.set_defaults(run=_bench)
    return root


def _add_new_texts(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", metavar="run", help="the folder that discover wrote")
    command.add_argument("file", help="CSV, TSV, JSONL or Parquet, also .gz")
    command.add_argument("--text", metavar="COLUMN", help="the column of the texts")
    command.add_argument("--label", metavar="COLUMN", help="a column of known coarse labels, which limit the choice")
    command.add_argument("--quiet", action="store_true", help="no progress")


def _add_run_options(command: argparse.ArgumentParser, out: str | None) -> None:
    command.add_argument("--out", default=out, required=out is None, metavar="FOLDER", help="where the run is written")
    command.add_argument(
        "--categories",
        default="auto",
        metavar="N",
        help='how many in all, "auto" (default), or some of them by label: "billing=12,login=5"',
    )
    command.add_argument(
        "--granularity", default="normal", metavar="X", help="coarse, normal or fine: what auto tends to"
    )
    command.add_argument("--preset", default="default", help=f"{' or '.join(PRESETS)} (default: default)")
    command.add_argument("--seed", default="0", help="same seed, same result (default: 0)")
    command.add_argument("--resume", action="store_true", help="continue a run that was stopped")
    command.add_argument("--overwrite", action="store_true", help="replace an earlier run in the folder")
    command.add_argument("--quiet", action="store_true", help="no progress, only the result")
    add_engine(command)
    group = command.add_argument_group("settings, in place of the preset's")
    for name in NAMES:
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="X", help=about(name).replace("%", "%%"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 for done, 2 for a user error, 128 + n for a signal."""
    options = parser().parse_args(arguments)
    watch_signals()
    try:
        check_launched(options)
        options.run(options) if first() else _help()
        sys.stdout.flush()
    except KeyboardInterrupt:
        return stopped(options.command)
    except Exception as error:
        code = failed(error, options.command) if Stopped.came is None else stopped(options.command)
        if code is None:
            raise
        return code
    return 0


def _discover(options: argparse.Namespace) -> None:
    from subtaxa.data.texts import read_texts

    _run(options, lambda: read_texts(options.file, options.text, options.label, strict=options.strict))


def _help() -> None:
    """In every process but the first of those that a launcher started: a share of the training, without a word."""
    from subtaxa.engines.torchrun import take_part

    take_part()


def _demo(options: argparse.Namespace) -> None:
    from subtaxa.data.texts import read_texts

    model = _run(options, lambda: read_texts(EXAMPLE / "support.csv", "message", "department"))
    if model is not None:
        from subtaxa.bench.scoring import score_example

        say(score_example(model, EXAMPLE / "support_fine.csv"))


def _run(options: argparse.Namespace, read: Any) -> Any:
    """Read, fit, save and show, alone in the folder; the shared part of discover and demo."""
    from subtaxa.runtime.folder_lock import exclusive
    from subtaxa.runtime.signals import ending_soon

    with engine_for(options) as engine, exclusive(Path(options.out)), ending_soon(f"subtaxa: stopped{RESUME}"):
        return _run_alone(options, read, engine)


def _run_alone(options: argparse.Namespace, read: Any, engine: Any) -> Any:
    from subtaxa.runs import layout
    from subtaxa.runs.checkpoint_identity import check_not_begun_over
    from subtaxa.runtime.progress import progress_for

    out, progress = Path(options.out), progress_for(quiet=options.quiet)
    layout.check_target(out, overwrite=options.overwrite, resume=options.resume)
    if options.resume and (out / layout.RUN).exists() and not options.overwrite:
        check_not_begun_over(out)
        layout.clear_checkpoint(out)
        layout.clear_left(out)
        say(f"{out} is already finished; see {out / layout.REPORT}")
        return None
    with progress.step("Reading the file"):
        data = read()
    for line in data.describe():
        progress.say(line)
    with progress.step("Starting up"):
        from subtaxa.clustering.requested_number import parse
        from subtaxa.discovery import Discovery

    given = {name: getattr(options, name) for name in NAMES if getattr(options, name) is not None}
    model = Discovery(
        parse(options.categories),
        granularity=options.granularity,
        preset=options.preset,
        seed=whole_number(options.seed, "--seed"),
        **given,
    )
    if not options.resume:
        layout.clear_checkpoint(out)
    model.fit(data, progress=progress, checkpoint=out / layout.CHECKPOINT, engine=engine)
    with progress.step("Writing the run"):
        model.save(out, overwrite=True, command=shlex.join(["subtaxa", *sys.argv[1:]]))
    layout.clear_checkpoint(out)
    say(str(model.taxonomy_))
    say(f"\n{len(model.taxonomy_)} categories in {len(model.coarse_labels_)} labels; open {out / layout.REPORT}")
    return model


def _assign(options: argparse.Namespace) -> None:
    from subtaxa.cli.engine_options import assign
    from subtaxa.runtime.progress import progress_for

    for line in assign(options, progress_for(quiet=options.quiet)):
        say(line)


def _update(options: argparse.Namespace) -> None:
    from subtaxa.cli.update import update_run
    from subtaxa.runtime.progress import progress_for

    for line in update_run(
        Path(options.folder), Path(options.file), options.text, options.label, progress_for(quiet=options.quiet)
    ):
        say(line)


def _info(options: argparse.Namespace) -> None:
    from subtaxa.report.text_tables import number_lines
    from subtaxa.runs import layout

    folder = Path(options.folder)
    facts, taxonomy = layout.read_run(folder), layout.read_taxonomy(folder)
    if options.outliers:
        for line in layout.outlier_lines(folder):
            say(line)
        return
    say(str(taxonomy))
    say("\nHow many categories a label has, and how clear-cut each number of them is:")
    for line in number_lines(layout.read_numbers(facts)):
        say(line)
    data, settings = facts["data"], facts["settings"]
    lines = {
        "source": f"{data['source']} ({data['texts']:,} texts, {data['skipped']} rows skipped)",
        "method": f"{settings['method']}, preset {facts['preset']}, seed {facts['seed']}",
        "encoder": settings["encoder"],
        "time": f"{sum(facts['timings'].values()):.0f} s on {facts['cores']} cores",
        "made": f"{facts['created']} by subtaxa {facts['subtaxa']}",
        "report": folder / layout.REPORT,
    }
    say()
    for name, value in lines.items():
        say(f"{name:>8}  {value}")


def _edit(options: argparse.Namespace) -> None:
    from subtaxa.cli.edit import edit_run
    from subtaxa.runtime.progress import progress_for

    say(edit_run(options, progress_for(quiet=options.quiet)))


def _name(options: argparse.Namespace) -> None:
    from subtaxa.cli.name import name_run
    from subtaxa.runtime.progress import progress_for

    for line in name_run(options, progress_for(quiet=options.quiet)):
        say(line)


def _bench(options: argparse.Namespace) -> None:
    from subtaxa.cli import bench
    from subtaxa.runtime.progress import progress_for

    bench.run(options, say, progress_for(quiet=getattr(options, "quiet", True)))


def _methods(options: argparse.Namespace) -> None:
    from subtaxa.methods import variants

    default, width = PRESETS["default"]["method"], max(map(len, variants()))
    for name, method in variants().items():
        mark = "  (default)" if name == default else ""
        say(f"{name:{width}} {(method.__doc__ or '').strip().partition(chr(10))[0]}{mark}")
