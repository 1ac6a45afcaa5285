"""The pandas UDF in a local Spark, if Spark is installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.corpus import planted_corpus

from subtaxa import Discovery, SubtaxaError

TEXTS, LABELS, _ = planted_corpus(20)


@pytest.mark.skipif(find_spec("pyspark") is None, reason="Spark is not installed: pip install pyspark, with Java 17")
def test_the_udf_assigns_as_the_model_does(
    quick: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    from subtaxa.engines.spark import assign_udf

    model = Discovery(6, **quick).fit(TEXTS, LABELS)
    run = model.save(tmp_path / "run")
    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = session.createDataFrame([(i, text) for i, text in enumerate(TEXTS)], "number long, text string")
        assigned = frame.select("number", assign_udf(run)("text").alias("found")).select("number", "found.*")
        rows = {row["number"]: row for row in assigned.collect()}
    finally:
        session.stop()
    assert len(rows) == len(TEXTS)
    assert [rows[i]["category_id"] for i in range(len(TEXTS))] == model.predict(TEXTS).tolist()
    assert {row["outlier"] for row in rows.values()} <= {"yes", "no"}


@pytest.mark.skipif(find_spec("pyspark") is not None, reason="Spark is installed")
def test_without_spark_the_error_says_what_to_install() -> None:
    from subtaxa.engines.spark import assign_udf

    with pytest.raises(SubtaxaError, match="pip install pyspark"):
        assign_udf("run")
