"""Connect to a Ray cluster, or start Ray on this machine until the command ends."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from subtaxa.engines import check_ray
from subtaxa.errors import SettingError

ATTEMPTS = 3  # Ray allows itself 30 seconds to start, which is not always enough on a busy machine.


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[None]:
    """Connect to Ray while the context is open. If the caller has already started Ray, it is used and left running."""
    check_ray()
    import ray

    if ray.is_initialized():
        yield
        return
    here: dict[str, Any] = {
        "num_cpus": max(os.cpu_count() or 1, workers),
        "include_dashboard": False,
        "runtime_env": {"worker_process_setup_hook": _silence_placement_warnings},
    }
    try:
        _retry(lambda: ray.init(address or "local", logging_level=logging.WARNING, **({} if address else here)))
    except ConnectionError as error:
        raise SettingError(
            f"cannot connect to a Ray cluster at {address!r}: start one there with ray start --head, "
            "and set RAY_AUTH_MODE=token if it requires a token"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _retry(start: Callable[[], Any]) -> None:
    """Start Ray, and try again if it timed out."""
    for left in reversed(range(ATTEMPTS)):
        try:
            start()
            return
        except Exception as error:
            if not left or "timed out during startup" not in str(error):
                raise


def _silence_placement_warnings() -> None:
    """Without a dashboard, Ray Train warns every second that it cannot reach one."""
    logging.getLogger("ray.train.v2._internal.execution.controller.placement_group_cleaner").setLevel(logging.ERROR)
