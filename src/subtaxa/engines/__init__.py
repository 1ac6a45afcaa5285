"""Where a training or a filing runs when one process is not enough. Nothing here imports an engine by itself.

`torchrun.py` takes part in what `torchrun` or `accelerate launch` started; `ray_fit.py` trains and `ray_assign.py`
files texts on a Ray cluster (`pip install 'subtaxa[cluster]'`).
"""

from __future__ import annotations

import os

from subtaxa.errors import SettingError

ENGINES = ("local", "ray")


def check_ray() -> None:
    """Refuse to go on without Ray, and keep Ray from reporting how it is used."""
    from importlib.util import find_spec

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if find_spec("ray") is None:
        raise SettingError("--engine ray needs Ray, which is not installed: type pip install 'subtaxa[cluster]'")
