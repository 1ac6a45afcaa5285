"""Real signals to this process: handled at once, or after a shielded block."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from subtaxa.cli import main, methods
from subtaxa.runtime.signals import Interrupts, Stopped, force_exit_after_signal

both = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def send(number: int) -> None:
    """Send a signal to this process and give its handler time to run."""
    os.kill(os.getpid(), number)
    time.sleep(0.01)


class NotCaught(Exception):
    """A signal reached the handlers that were installed before."""


@pytest.fixture(autouse=True)
def handlers() -> Iterator[dict[int, object]]:
    """Install handlers below the tested ones, so that a missed signal fails the test instead of ending the test run."""

    def handle(number: int, frame: object) -> None:
        raise NotCaught(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    yield dict.fromkeys(before, handle)
    for number, handler in before.items():
        signal.signal(number, handler)


def current() -> dict[int, object]:
    return {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}


@both
def test_outside_a_shield_a_signal_stops_at_once(number: int) -> None:
    reached = False
    with pytest.raises(Stopped) as caught, Interrupts():  # noqa: PT012
        send(number)
        reached = True
    assert not reached
    assert caught.value.signal_number == number
    assert isinstance(caught.value, KeyboardInterrupt)
    assert signal.Signals(number).name in str(caught.value)


@both
def test_inside_a_shield_a_signal_waits(number: int) -> None:
    with Interrupts() as interrupts:
        assert interrupts.pending is None
        with interrupts.shielded():
            send(number)
            done = "the step was finished"
        assert interrupts.pending == number
    assert done


@both
def test_a_second_signal_does_not_wait(number: int) -> None:
    reached = False
    with pytest.raises(Stopped) as caught, Interrupts() as interrupts, interrupts.shielded():  # noqa: PT012
        send(signal.SIGINT)
        reached = True
        send(number)
        pytest.fail("the second signal was held back too")
    assert reached
    assert caught.value.signal_number == number


def test_after_a_shield_a_signal_stops_at_once_again() -> None:
    with pytest.raises(Stopped), Interrupts() as interrupts:  # noqa: PT012
        with interrupts.shielded():
            pass
        send(signal.SIGINT)
        pytest.fail("the signal was held back")
    assert interrupts.pending is None


def test_an_error_inside_a_shield_lifts_it() -> None:
    with pytest.raises(Stopped), Interrupts() as interrupts:  # noqa: PT012
        with pytest.raises(RuntimeError, match="in the step"), interrupts.shielded():
            raise RuntimeError("in the step")
        send(signal.SIGINT)


def test_the_previous_handlers_are_restored(handlers: dict[int, object]) -> None:
    with Interrupts():
        assert all(current()[number] is not handler for number, handler in handlers.items())
    assert current() == handlers
    with pytest.raises(NotCaught):
        send(signal.SIGINT)


def test_the_previous_handlers_are_restored_after_an_error_and_after_a_stop(handlers: dict[int, object]) -> None:
    for kind in (RuntimeError, Stopped):
        with pytest.raises(kind), Interrupts():
            raise kind
        assert current() == handlers
    with pytest.raises(Stopped), Interrupts():
        send(signal.SIGTERM)
    assert current() == handlers


def test_signals_are_not_handled_outside_the_main_thread(handlers: dict[int, object]) -> None:
    seen: list[object] = []

    def work() -> None:
        with Interrupts() as interrupts, interrupts.shielded():
            seen.append(current())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [handlers]


def test_stopped_means_ctrl_c_by_default() -> None:
    assert Stopped().signal_number == signal.SIGINT
    assert str(Stopped(signal.SIGTERM)) == "stopped by SIGTERM"


BUSY = """
import time
from subtaxa.runtime.signals import Interrupts, force_exit_after_signal
with force_exit_after_signal("subtaxa: stopped", 0.3), Interrupts() as interrupts, interrupts.shielded():
    print("ready", flush=True)
    time.sleep(600)  # Like a library call during which Python handles no signals.
"""


@both
def test_a_process_that_handles_no_signals_is_ended(number: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.communicate(timeout=60)[1] == "subtaxa: stopped\n"
    assert process.returncode == 128 + number


def test_no_exit_is_forced_without_a_signal_or_after_the_block() -> None:
    before = threading.active_count()
    with force_exit_after_signal("never", 0.0):
        pass
    with pytest.raises(NotCaught), force_exit_after_signal("never", 60.0):  # The usual handler is fast enough.
        send(signal.SIGINT)
    for _ in range(500):
        if threading.active_count() == before:
            break
        time.sleep(0.01)
    assert threading.active_count() == before


@both
def test_an_error_that_a_library_raises_after_a_signal_counts_as_a_stop(
    number: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def library(options: object) -> None:
        try:
            send(number)
        except KeyboardInterrupt:
            raise TypeError("cannot compare") from None

    monkeypatch.setattr(methods, "run", library)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert main.main(["methods"]) == 128 + number
    assert capsys.readouterr().err == "subtaxa: stopped\n"


def test_an_error_without_a_signal_is_not_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(options: object) -> None:
        raise TypeError("cannot compare")

    monkeypatch.setattr(methods, "run", broken)
    with pytest.raises(TypeError):
        main.main(["methods"])
