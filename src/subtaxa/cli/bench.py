"""`subtaxa bench`: train and score methods on data with known fine labels, and make the paper's tables and figures."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from subtaxa.cli.options import add_preset, add_quiet, add_settings, given_settings
from subtaxa.errors import InputError, SettingError, SubtaxaError
from subtaxa.runtime.terminal import say
from subtaxa.settings import NAMES, PRESETS, check, either, whole_number

if TYPE_CHECKING:
    from subtaxa.bench.datasets import Dataset
    from subtaxa.bench.records import Job, Record
    from subtaxa.runtime.progress import Progress

SETTINGS = tuple(name for name in NAMES if name != "method")


def add_parser(commands: Any) -> None:
    bench = commands.add_parser(
        "bench",
        help="compare methods on data with known fine labels",
        description="Train and score methods on data with known fine labels, and make the paper's tables and figures "
        "from the finished runs.",
    )
    bench.set_defaults(run=run)
    parts = bench.add_subparsers(dest="bench", required=True, metavar="COMMAND", title="commands")
    _add_run(parts)
    table = _add_paper(parts, "table", "make a table of the paper from finished runs", _table)
    table.add_argument("number", choices=["1", "2", "3", "4"], help="number of the table in the paper")
    figure = _add_paper(parts, "figure", "make a figure of the paper from finished runs", _figure)
    figure.add_argument("number", choices=["3a", "3b", "3c", "4", "5", "7"], help="number of the figure in the paper")
    figure.add_argument(
        "--method", default="dna", metavar="NAME", help="method to show, except in figure 5 (default: dna)"
    )
    _add_paper(parts, "compare", "compare the scores of finished runs with those of the paper", _compare)


def _add_run(parts: Any) -> None:
    command = parts.add_parser(
        "run",
        help="train and score methods; finished runs are not repeated",
        description="Train and score methods, one run for each combination of data set, method and seed. Finished runs "
        "are not repeated.",
        usage="subtaxa bench run --data FOLDER --dataset NAME --method NAME [--seeds 0 1 2] [options]",
    )
    command.add_argument("--data", metavar="FOLDER", help="folder with the authors' files in clinc/, hwu64/ and wos/")
    command.add_argument("--dataset", metavar="NAME", help="clinc, clinc-lt, hwu64, wos, wos-part, or your own file")
    command.add_argument("--text", metavar="COLUMN", help="column with the texts in your own file")
    command.add_argument("--label", metavar="COLUMN", help="column with the coarse labels in your own file")
    command.add_argument("--fine", metavar="COLUMN", help="column with the fine labels in your own file")
    command.add_argument(
        "--method", metavar="NAME", nargs="+", help="one or more methods (see subtaxa methods) or baselines"
    )
    command.add_argument(
        "--all", action="store_true", help="run every row of the tables and figures, with --budget or --preset paper"
    )
    command.add_argument("--skip", metavar="NAME", nargs="+", default=[], help="methods that --all leaves out")
    command.add_argument("--only-missing", action="store_true", help="do not print the runs that are already finished")
    command.add_argument("--renew", action="store_true", help="also repeat finished runs that were made by other code")
    command.add_argument("--seeds", metavar="N", nargs="+", help="one run for each seed (default: 0)")
    add_preset(command)
    command.add_argument(
        "--budget",
        metavar="NAME",
        help="short or full: the same layers, passes and text length for all methods, and a chosen learning rate",
    )
    command.add_argument("--limit", metavar="N", help="train on N texts only")
    command.add_argument("--no-curves", action="store_true", help="do not score every epoch, which figure 3 needs")
    add_quiet(command)
    _add_runs_folder(command)
    add_settings(command, SETTINGS, "settings (they override the preset and the method's own)")
    command.set_defaults(bench_run=_run)


def _add_paper(parts: Any, name: str, about: str, bench_run: Any) -> argparse.ArgumentParser:
    """Add a command that makes a part of the paper from finished runs."""
    command: argparse.ArgumentParser = parts.add_parser(
        name, help=about, description=f"{about[0].upper()}{about[1:]}, as text and as files."
    )
    _add_runs_folder(command)
    command.add_argument("--variant", metavar="NAME", help="which runs to use, by the name of their folder")
    command.add_argument(
        "--mix-digests",
        action="store_true",
        help="allow runs of different code in one table, and runs of 0.1; their rows are marked",
    )
    command.add_argument(
        "--out", default="research/paper", metavar="FOLDER", help="where to write the files (default: research/paper)"
    )
    command.set_defaults(bench_run=bench_run)
    return command


def _add_runs_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--runs",
        default="research/runs",
        metavar="FOLDER",
        help="folder with one folder per run (default: research/runs)",
    )


def run(options: argparse.Namespace) -> None:
    options.bench_run(options)


def _run(options: argparse.Namespace) -> None:
    from subtaxa.runtime.progress import progress_for

    progress = progress_for(quiet=options.quiet)
    jobs, datasets = list(_jobs(options)), _Datasets(options, progress)
    from subtaxa.bench.paper.plan import closer_look
    from subtaxa.bench.records import read_all
    from subtaxa.bench.running import settings_of

    root = Path(options.runs)
    for job in jobs:  # Report every mistake before the first hour of work.
        settings_of(job, datasets[job.dataset])
        if not options.data and _lacks_rate(job, root):
            raise InputError(
                f"the learning rate of {job.method} is chosen on HWU64: give --data FOLDER or --learning-rate X"
            )
    _run_all(jobs, options, datasets, root, progress)
    if options.all and any(job.variant == "short" for job in jobs):
        more = [job for job in closer_look(read_all(root), options.budget) if job.method not in options.skip]
        _run_all(more, options, datasets, root, progress)


def _run_all(jobs: list[Job], options: argparse.Namespace, datasets: _Datasets, root: Path, progress: Progress) -> None:
    """Run the jobs in order."""
    from subtaxa.bench.paper.plan import CHEAP
    from subtaxa.bench.records import missing
    from subtaxa.bench.running import run

    command, todo = shlex.join(["subtaxa", *sys.argv[1:]]), missing(jobs, root, options.renew)
    for job in todo if options.only_missing else jobs:
        if job in todo:
            progress.say(f"run {todo.index(job) + 1} of {len(todo)}: {job}")
        try:
            if job in todo:
                _choose_rate(job, datasets, root, progress)
            curves = not options.no_curves and job.method not in CHEAP  # Rows without training have no curve.
            record = run(job, datasets[job.dataset], root, progress, command, curves, renew=options.renew)
        except SubtaxaError as error:
            if not options.all:
                raise
            say(f"{job}: skipped, {error}")
            continue
        say(_score_line(job, record) if record else f"{job}: skipped, another process is running it")
    if not todo and jobs:
        say(f"all {len(jobs)} runs are finished; see {root}")


def _choose_rate(job: Job, datasets: _Datasets, root: Path, progress: Progress) -> None:
    """Choose the learning rate of the job's method within its budget, unless that was done before."""
    from subtaxa.bench.learning_rates import DATASET, choose_rate
    from subtaxa.bench.running import unresolved_settings

    if job.budget is None or not _lacks_rate(job, root):
        return
    data = datasets[DATASET]
    chosen = choose_rate(
        root,
        job.budget,
        job.method,
        data.train,
        data.n_fine,
        lambda rate: unresolved_settings(job, data, rate),
        progress,
    )
    say(f"{job.method}, budget {job.budget}: learning rate {chosen.rate:g} (agreement {chosen.agreement:.3f})")


def _lacks_rate(job: Job, root: Path) -> bool:
    from subtaxa.bench.learning_rates import chosen_rate
    from subtaxa.bench.paper.plan import CHEAP

    if job.budget is None or job.method in CHEAP or "learning_rate" in job.changes:
        return False
    return chosen_rate(root, job.budget, job.method) is None


def _score_line(job: Job, record: Record) -> str:
    parts = [f"{name} {s['acc']:5.1f} {s['ari']:5.1f} {s['nmi']:5.1f}" for name, s in record.scores.items()]
    return f"{job}: " + "  ".join(parts) + f"  ({record.seconds['whole']:.0f} s)"


def _jobs(options: argparse.Namespace) -> Iterator[Job]:
    """The runs that the options ask for, checked."""
    from subtaxa.bench.budgets import budget_of
    from subtaxa.bench.paper.plan import everything
    from subtaxa.bench.records import Job

    changes = {name: check(name, value) for name, value in given_settings(options, SETTINGS).items()}
    if options.preset not in PRESETS:
        raise SettingError(f"unknown preset {options.preset!r}: use {either(PRESETS)}")
    if options.budget is not None and options.preset != "default":
        raise SettingError("a budget has its own settings: leave out --preset or --budget")
    if options.budget is not None:
        budget_of(options.budget)
    limit = None if options.limit is None else whole_number(options.limit, "--limit", 1)
    if options.all:
        if options.dataset or options.method or options.seeds:
            raise SettingError("--all runs everything: leave out --dataset, --method and --seeds")
        if options.budget is None and options.preset != "paper":
            raise SettingError("--all needs a budget: give --budget short, --budget full or --preset paper")
        jobs = everything(options.budget, options.preset, limit, changes)
        yield from (job for job in jobs if job.method not in options.skip)
        return
    if not options.dataset or not options.method:
        raise SettingError("nothing to run: give --dataset NAME and --method NAME, or --all")
    for method in options.method:
        _check_method(method)
        for seed in options.seeds or ["0"]:
            number = whole_number(seed, "--seeds")
            yield Job(Path(options.dataset).name, method, options.preset, number, limit, changes, options.budget)


def _check_method(name: str) -> None:
    from subtaxa.bench.baselines import BASELINES
    from subtaxa.methods import variants

    if name not in BASELINES and name not in variants():
        raise SettingError(f"unknown method {name!r}: use {either([*variants(), *BASELINES])}")


class _Datasets(dict[str, "Dataset"]):
    """The data sets by name. Each is read when it is first needed, and its skipped rows are reported."""

    def __init__(self, options: argparse.Namespace, progress: Progress) -> None:
        super().__init__()
        self.options, self.progress = options, progress

    def __missing__(self, name: str) -> Dataset:
        self[name] = dataset = self._read(name)
        for note in dataset.notes:
            self.progress.say(note)
        return dataset

    def _read(self, name: str) -> Dataset:
        from subtaxa.bench.datasets import DATASETS, from_file, load

        options = self.options
        # HWU64 is also read to choose learning rates for another data set.
        if name in DATASETS and (options.dataset in (None, name) or name != Path(options.dataset).name):
            if not options.data:
                raise InputError(f"{name} needs --data: give the folder with the authors' files")
            return load(name, Path(options.data))
        if not Path(options.dataset).is_file():
            raise InputError(f"{options.dataset!r} is neither a file nor one of {', '.join(DATASETS)}")
        if not options.label or not options.fine:
            raise InputError(f"give the columns of {options.dataset!r}: --label COLUMN --fine COLUMN")
        return from_file(Path(options.dataset), options.text, options.label, options.fine)


def _table(options: argparse.Namespace) -> None:
    from subtaxa.bench.paper.tables import write_table

    say(write_table(options.number, _records(options), Path(options.out)))


def _figure(options: argparse.Namespace) -> None:
    from subtaxa.bench.paper.figures import write_figure

    for path in write_figure(options.number, _records(options), Path(options.out), options.method):
        say(str(path))


def _compare(options: argparse.Namespace) -> None:
    from subtaxa.bench.paper.comparison import write_comparison

    say(write_comparison(_finished(options), Path(options.out), options.variant, options.mix_digests))


def _records(options: argparse.Namespace) -> list[Record]:
    """The finished runs of one variant: a preset with its changes, and the sweeps that change one more setting."""
    from subtaxa.bench.consistency import consistent
    from subtaxa.bench.records import choose_variant

    return consistent(choose_variant(_finished(options), options.variant), options.mix_digests)


def _finished(options: argparse.Namespace) -> list[Record]:
    """The finished runs. Those of 0.1, which do not say which code made them, are left out unless asked for."""
    from subtaxa.bench.records import read_all

    records = read_all(Path(options.runs))
    if not records:
        raise InputError(f"there is no finished run in {options.runs!r}: start with subtaxa bench run")
    known = [record for record in records if record.code or options.mix_digests]
    if not known:
        raise InputError(f"no run in {options.runs!r} says which code made it: show runs of 0.1 with --mix-digests")
    return known
