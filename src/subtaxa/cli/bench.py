"""`subtaxa bench`: its options, and what each command says. Nothing heavy is imported before it is needed."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.errors import InputError, SettingError, SubtaxaError
from subtaxa.settings import NAMES, PRESETS, about, check, whole_number

if TYPE_CHECKING:
    from subtaxa.bench.datasets import Dataset
    from subtaxa.bench.records import Job, Record
    from subtaxa.runtime.progress import Progress

Say = Callable[[str], None]
SETTINGS = [name for name in NAMES if name != "method"]


def add_commands(bench: argparse.ArgumentParser, kind: type[argparse.ArgumentParser]) -> None:
    commands = bench.add_subparsers(dest="bench", required=True, metavar="COMMAND", parser_class=kind)
    run = commands.add_parser(
        "run",
        help="train and score methods; a finished run is never repeated",
        usage="subtaxa bench run --data FOLDER --dataset NAME --method NAME [--seeds 0 1 2] [options]",
    )
    run.add_argument("--data", metavar="FOLDER", help="the authors' files: clinc/, hwu64/ and wos/ below it")
    run.add_argument("--dataset", metavar="NAME", help="clinc, clinc-lt, hwu64, wos, wos-part, or a file of your own")
    run.add_argument("--text", metavar="COLUMN", help="of a file of your own: the column of the texts")
    run.add_argument("--label", metavar="COLUMN", help="of a file of your own: the column of the coarse labels")
    run.add_argument("--fine", metavar="COLUMN", help="of a file of your own: the column of the fine labels")
    run.add_argument("--method", metavar="NAME", nargs="+", help="see `subtaxa methods`, and the baselines")
    run.add_argument("--all", action="store_true", help="every row and every figure of the paper")
    run.add_argument("--only-missing", action="store_true", help="say nothing of runs that are finished")
    run.add_argument("--seeds", metavar="N", nargs="+", help="one run for each (default: 0)")
    run.add_argument("--preset", default="default", help=f"{' or '.join(PRESETS)} (default: default)")
    run.add_argument("--limit", metavar="N", help="train on this many texts only")
    run.add_argument("--no-curves", action="store_true", help="faster: no scores after each epoch (for figure 3)")
    run.add_argument("--quiet", action="store_true", help="no progress, only the results")
    _add_runs(run)
    group = run.add_argument_group("settings, in place of the preset's and the method's own")
    for name in SETTINGS:
        group.add_argument(f"--{name.replace('_', '-')}", dest=name, metavar="X", help=about(name).replace("%", "%%"))
    run.set_defaults(make=_run)

    table = commands.add_parser("table", help="a table of the paper, from finished runs")
    table.add_argument("number", choices=["1", "2", "3", "4"])
    figure = commands.add_parser("figure", help="a figure of the paper, from finished runs")
    figure.add_argument("number", choices=["3a", "3b", "3c", "4", "5", "7"])
    figure.add_argument("--method", default="dna", metavar="NAME", help="of another method than dna (not figure 5)")
    compare = commands.add_parser("compare", help="ours beside the paper's, with difference and spread")
    for command, make in ((table, _table), (figure, _figure), (compare, _compare)):
        _add_runs(command)
        command.add_argument("--variant", metavar="NAME", help="which runs, by the name of their folder")
        command.add_argument("--out", default="results", metavar="FOLDER", help="where the files go (default: results)")
        command.set_defaults(make=make)


def _add_runs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--runs", default="results/runs", metavar="FOLDER", help="one folder per run is in here")


def _run(options: argparse.Namespace, say: Say, progress: Progress) -> None:
    jobs, datasets = list(_jobs(options)), _Datasets(options, progress)
    from subtaxa.bench.records import missing
    from subtaxa.bench.running import run, settings_of

    for job in jobs:
        settings_of(job, datasets[job.dataset])  # every mistake is told before the first hour of work
    root, command = Path(options.runs), shlex.join(["subtaxa", *sys.argv[1:]])
    todo = missing(jobs, root)
    for job in todo if options.only_missing else jobs:
        if job in todo:
            progress.say(f"run {todo.index(job) + 1} of {len(todo)}: {job}")
        try:
            record = run(job, datasets[job.dataset], root, progress, command, not options.no_curves)
        except SubtaxaError as error:
            if not options.all:
                raise
            say(f"{job}: skipped, {error}")
            continue
        say(_line(job, record) if record else f"{job}: skipped, another process is at it")
    if not todo:
        say(f"all {len(jobs)} runs are finished; see {root}")


def _line(job: Job, record: Record) -> str:
    parts = [f"{name} {s['acc']:5.1f} {s['ari']:5.1f} {s['nmi']:5.1f}" for name, s in record.scores.items()]
    return f"{job}: " + "  ".join(parts) + f"  ({record.seconds['whole']:.0f} s)"


def _jobs(options: argparse.Namespace) -> Iterator[Job]:
    from subtaxa.bench.paper.plan import everything
    from subtaxa.bench.records import Job

    changes = {name: check(name, value) for name in SETTINGS if (value := getattr(options, name)) is not None}
    if options.preset not in PRESETS:
        raise SettingError(f"unknown preset {options.preset!r}: use {' or '.join(PRESETS)}")
    limit = None if options.limit is None else whole_number(options.limit, "--limit", 1)
    if options.all:
        if options.dataset or options.method or options.seeds:
            raise SettingError("--all runs everything: leave out --dataset, --method and --seeds")
        yield from everything(options.preset, limit, changes)
        return
    if not options.dataset or not options.method:
        raise SettingError("say what to run: --dataset NAME --method NAME, or --all")
    for method in options.method:
        _check_method(method)
        for seed in options.seeds or ["0"]:
            yield Job(Path(options.dataset).name, method, options.preset, whole_number(seed, "--seeds"), limit, changes)


def _check_method(name: str) -> None:
    from subtaxa.bench.baselines import BASELINES
    from subtaxa.methods import variants

    if name not in BASELINES and name not in variants():
        raise SettingError(f"unknown method {name!r}: use {', '.join([*variants(), *BASELINES])}")


class _Datasets(dict[str, "Dataset"]):
    """Each data set, read when it is first asked for, with a word on what was skipped."""

    def __init__(self, options: argparse.Namespace, progress: Progress) -> None:
        super().__init__()
        self.options, self.progress = options, progress

    def __missing__(self, name: str) -> Dataset:
        from subtaxa.bench.datasets import DATASETS, from_file, load

        options = self.options
        if name in DATASETS and options.dataset in (None, name):
            if not options.data:
                raise InputError(f"--data is missing: name the folder that holds the files of {name}")
            self[name] = load(name, Path(options.data))
        else:
            if not Path(options.dataset).is_file():
                raise InputError(f"{options.dataset!r} is no file and none of {', '.join(DATASETS)}")
            if not options.label or not options.fine:
                raise InputError(f"name the columns of {options.dataset!r}: --label COLUMN --fine COLUMN")
            self[name] = from_file(Path(options.dataset), options.text, options.label, options.fine)
        for note in self[name].notes:
            self.progress.say(note)
        return self[name]


def _table(options: argparse.Namespace, say: Say, progress: Progress) -> None:
    from subtaxa.bench.paper.tables import write_table

    say(write_table(options.number, _records(options), Path(options.out)))


def _figure(options: argparse.Namespace, say: Say, progress: Progress) -> None:
    from subtaxa.bench.paper.figures import write_figure

    for path in write_figure(options.number, _records(options), Path(options.out), options.method):
        say(str(path))


def _compare(options: argparse.Namespace, say: Say, progress: Progress) -> None:
    from subtaxa.bench.paper.comparison import write_comparison

    say(write_comparison(_finished(options), Path(options.out), options.variant))


def _records(options: argparse.Namespace) -> list[Record]:
    """The finished runs of one variant (the preset and its changes); sweeps of one more setting come along."""
    from subtaxa.bench.records import chosen

    return chosen(_finished(options), options.variant)


def _finished(options: argparse.Namespace) -> list[Record]:
    from subtaxa.bench.records import read_all

    records = read_all(Path(options.runs))
    if not records:
        raise InputError(f"there is no finished run in {options.runs!r}: begin with `subtaxa bench run`")
    return records


def run(options: argparse.Namespace, say: Say, progress: Any) -> None:
    """Carry out a bench command; `say` prints a line."""
    options.make(options, say, progress)
