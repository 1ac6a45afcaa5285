"""Assign texts in Spark.

`frame.select("*", assign_udf("run")("text").alias("assigned")).select("*", "assigned.*")`
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from subtaxa.assign import Assigner
from subtaxa.data.tables import SPARK_SCHEMA
from subtaxa.errors import SettingError


def assign_udf(run: str | Path) -> Any:
    """A pandas UDF from a column of texts to a struct with the columns of `subtaxa assign`.

    All executors must be able to read the folder. Each Python worker loads it once for all batches of a task.
    """
    try:
        from pyspark.sql.functions import pandas_udf
    except ImportError as error:
        raise SettingError("assign_udf needs Spark, which is not installed: type pip install pyspark") from error
    folder = Path(run).resolve()

    def assign(batches: Iterator[pd.Series]) -> Iterator[pd.DataFrame]:
        assigner = Assigner(folder)
        for texts in batches:
            yield pd.DataFrame(assigner.assign(["" if text is None else str(text) for text in texts]))

    return pandas_udf(assign, SPARK_SCHEMA)
