"""Joining a Ray cluster, or starting Ray on this machine for as long as the command runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from subtaxa.engines import check_ray
from subtaxa.errors import SettingError

ATTEMPTS = 3


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[None]:
    """While open, Ray is there. One that the caller has started already is used and left running."""
    check_ray()
    import ray

    if ray.is_initialized():
        yield
        return
    here: dict[str, Any] = {
        "num_cpus": max(os.cpu_count() or 1, workers),
        "include_dashboard": False,
        "runtime_env": {"worker_process_setup_hook": _hush},
    }
    try:
        _try(lambda: ray.init(address or "local", logging_level=logging.WARNING, **({} if address else here)))
    except ConnectionError as error:
        raise SettingError(
            f"cannot join a Ray cluster at {address!r}: start one there with ray start --head, "
            "and set RAY_AUTH_MODE=token if it asks for a token"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _try(start: Callable[[], Any]) -> None:
    """Ray gives itself half a minute to start, which is not always enough on a busy machine."""
    for left in reversed(range(ATTEMPTS)):
        try:
            start()
            return
        except Exception as error:
            if not left or "timed out during startup" not in str(error):
                raise


def _hush() -> None:
    """Without a dashboard, Ray Train complains every second that it cannot ask it."""
    logging.getLogger("ray.train.v2._internal.execution.controller.placement_group_cleaner").setLevel(logging.ERROR)
