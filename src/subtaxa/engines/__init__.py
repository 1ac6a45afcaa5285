"""Engines: training and assignment in more than one process. An engine's library is imported only when it is used.

`torchrun.py` trains in the processes that `torchrun` or `accelerate launch` started. `ray_fit.py` trains and
`ray_assign.py` assigns texts on a Ray cluster (`pip install 'subtaxa[cluster]'`). `spark.py` assigns texts in Spark.
"""

from __future__ import annotations

import os

from subtaxa.errors import SettingError

ENGINES = ("local", "ray")


def check_ray() -> None:
    """Raise an error if Ray is not installed, and turn off Ray's usage statistics."""
    from importlib.util import find_spec

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if find_spec("ray") is None:
        raise SettingError("--engine ray needs Ray, which is not installed: type pip install 'subtaxa[cluster]'")
