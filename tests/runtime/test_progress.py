"""Progress as plain lines with the remaining time, and no progress at all, on a fake clock."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import pytest

from subtaxa.runtime import progress
from subtaxa.runtime.progress import JsonProgress, LineProgress, Progress, RichProgress, duration, progress_for


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=clock))
    return clock


def test_a_line_every_ten_seconds_with_the_time_left(clock: Clock) -> None:
    out = io.StringIO()
    with LineProgress(out).step("Training", 100) as step:
        clock.now += 5
        step.advance(10)
        assert out.getvalue() == ""
        clock.now += 15
        step.advance(15)  # 25 took 20 s, so the remaining 75 take 60 s.
        assert out.getvalue() == "Training: 25 %, about 60 s left\n"
        clock.now += 9
        step.advance(5)
        assert out.getvalue().count("\n") == 1
        clock.now += 171
        step.note("epoch 2 of 3: loss 1.5")
        step.advance(20)  # 50 took 200 s.
        assert out.getvalue().splitlines()[1:] == ["Training: 50 %, about 3 min left, epoch 2 of 3: loss 1.5"]
    assert out.getvalue().splitlines()[2:] == ["Training: 3 min"]


def test_more_than_the_total_is_still_100_percent(clock: Clock) -> None:
    out = io.StringIO()
    with LineProgress(out).step("Reading", 10) as step:
        clock.now += 11
        step.advance(25)
    assert out.getvalue().splitlines() == ["Reading: 100 %, about 0 s left", "Reading: 11 s"]


def test_a_step_of_unknown_length_prints_only_its_end(clock: Clock) -> None:
    out = io.StringIO()
    with LineProgress(out).step("Loading") as step:
        clock.now += 60
        step.advance()
    assert out.getvalue() == "Loading: 60 s\n"


def test_a_quick_step_prints_nothing(clock: Clock) -> None:
    out = io.StringIO()
    with LineProgress(out).step("Naming", 5) as step:
        clock.now += 1
        step.advance(5)
    assert out.getvalue() == ""


def test_say_prints_a_line() -> None:
    out = io.StringIO()
    LineProgress(out).say("[bold] 5 labels")
    assert out.getvalue() == "[bold] 5 labels\n"


def test_lines_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    LineProgress().say("hello")
    assert capsys.readouterr() == ("", "hello\n")


def test_silent_progress_prints_nothing_and_keeps_the_timings(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    silent = Progress()
    silent.say("not heard")
    for seconds in (30, 12.3456):
        with silent.step("Training", 100) as step:
            clock.now += seconds
            step.advance(50)
            step.note("loss 1.0")
    assert capsys.readouterr() == ("", "")
    assert silent.timings == {"Training": pytest.approx(42.346, abs=1e-3)}
    assert step.done == 50


@pytest.mark.parametrize("kind", [Progress, lambda: LineProgress(io.StringIO())])
def test_a_step_that_fails_is_closed_and_timed(clock: Clock, kind: type[Progress]) -> None:
    reporter = kind()
    with pytest.raises(RuntimeError, match="in the step"), reporter.step("Training", 3):  # noqa: PT012
        clock.now += 4
        raise RuntimeError("in the step")
    assert reporter.timings == {"Training": 4.0}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.4, "0 s"), (89, "89 s"), (90, "2 min"), (600, "10 min"), (5399, "90 min"), (5400, "1.5 h")],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_the_kind_of_progress_depends_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for terminal, kind in ((True, RichProgress), (False, LineProgress)):
        monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda answer=terminal: answer, write=len))
        assert type(progress_for(quiet=False)) is kind
        assert type(progress_for(quiet=True)) is Progress


def test_the_bar_shows_names_without_markup_and_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    out = io.StringIO()
    reporter = RichProgress()
    reporter.console = Console(file=out, force_terminal=False, width=200)
    with reporter.step("[bold]Training[/bold]", 4) as step:
        step.advance(3)
        step.note("loss [1.0]")
        assert step.bar.tasks[0].completed == 3  # type: ignore[attr-defined]
        assert step.bar.tasks[0].description == "[bold]Training[/bold]"  # type: ignore[attr-defined]
    assert step.bar.finished is False  # type: ignore[attr-defined]
    reporter.say("[red] 5 labels")
    assert out.getvalue().endswith("[red] 5 labels\n")
    assert "[bold]Training[/bold]" in reporter.timings


def test_json_lines_for_programs(clock: Clock) -> None:
    out = io.StringIO()
    shown = JsonProgress(out)
    shown.say("two\nlines")
    with shown.step("Training", 100) as step:
        clock.now += 0.1
        step.advance(10)  # Too soon for another line.
        clock.now += 9.9
        step.advance(10)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    assert told[0] == {"say": "two\nlines"}
    assert told[1] == {"step": "Training", "done": 0, "total": 100, "left": None}
    assert told[2] == {"step": "Training", "done": 20, "total": 100, "left": 40}
    assert len(told) == 3


def test_the_environment_asks_for_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(progress.VARIABLE, "json")
    assert isinstance(progress_for(quiet=False), JsonProgress)
    assert type(progress_for(quiet=True)) is Progress
