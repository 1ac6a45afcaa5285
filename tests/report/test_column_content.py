"""The columns of the texts in the page's data: what is there, what is left out, and how large it can become."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from report.test_content import content, taxonomy

from subtaxa.data.kept_columns import KeptColumns
from subtaxa.report import column_content
from subtaxa.report.column_content import MAX_VALUES, columns_block
from subtaxa.report.content import as_json

N = 300


def block(**columns: list[Any]) -> dict[str, Any]:
    return columns_block(KeptColumns.of(columns, len(next(iter(columns.values())))))


def test_each_kind_of_column() -> None:
    found = block(
        date=["2025-03-01T23:30:00-05:00", None, "2025-02-28"],
        amount=[12.3456789, None, 3],
        channel=["web", None, "phone"],
    )["columns"]
    days = (np.array(["2025-03-02", "2025-02-28"], "datetime64[D]") - np.datetime64("1970-01-01")).astype(int)
    assert found == [
        {"name": "date", "kind": "date", "days": [days[0], None, days[1]]},
        {"name": "amount", "kind": "number", "numbers": [12.3457, None, 3]},
        {"name": "channel", "kind": "category", "values": ["web", "phone"], "codes": [0, -1, 1]},
    ]


def test_values_are_sorted_by_frequency_and_a_code_belongs_to_its_value() -> None:
    given = ["b", "a", None, "a", "c", "a", "b"]
    (column,) = block(x=given)["columns"]
    assert column["values"] == ["a", "b", "c"]
    assert [None if code < 0 else column["values"][code] for code in column["codes"]] == given


def test_what_nothing_can_be_counted_by_is_left_out_with_a_reason() -> None:
    found = block(
        note=[f"a note about customer {i}" for i in range(N)],
        nothing=[None] * N,
        always=["yes"] * N,
        zero=[0] * N,
        kept=["yes", "no"] * (N // 2),
    )
    assert [column["name"] for column in found["columns"]] == ["kept"]
    assert found["left_out"] == [
        ["note", "texts"],
        ["nothing", "empty"],
        ["always", "the same value everywhere"],
        ["zero", "the same value everywhere"],
    ]
    assert block(x=["yes", None])["left_out"] == []  # Whether there is a value can be counted.


def test_rare_values_are_counted_together() -> None:
    given = [f"value {i % 150}" for i in range(3000)] + ["value 149"]
    (column,) = block(x=given)["columns"]
    assert len(column["values"]) == MAX_VALUES
    assert column["values"][0] == "value 149"
    assert column["values"][-1] == f"({150 - (MAX_VALUES - 1)} other values)"
    counts = np.bincount(column["codes"])
    assert counts.sum() == len(given)
    assert counts[-1] == 20 * (150 - (MAX_VALUES - 1))


def test_too_many_cells_leave_columns_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_content, "MAX_CELLS", 5)
    found = block(a=["x", "y"], b=["x", "y"], c=["x", "y"])
    assert [column["name"] for column in found["columns"]] == ["a", "b"]
    assert found["left_out"] == [["c", "the page would become too large"]]


def test_long_names_and_values_stay_different() -> None:
    long = "x" * 500
    found = block(**{long + "1": [long + "1", long + "2"], long + "2": ["a", "b"]})
    names = [column["name"] for column in found["columns"]]
    values = found["columns"][0]["values"]
    assert len(set(names)) == len(set(values)) == 2
    assert max(map(len, names + values)) < 90


def test_numbers_that_javascript_cannot_hold() -> None:
    found = block(n=["9" * 18, "1e99", "-1e99", "1e-99"])["columns"][0]["numbers"]
    assert found == [1e18, 1e99, -1e99, 1e-99]
    json.dumps(found, allow_nan=False)


def test_names_and_values_do_not_end_the_script() -> None:
    data = content(taxonomy(2))
    evil = ["</script><script>alert(1)</script>", "\u2028 \ud800 \0"]
    columns = KeptColumns.of({evil[0]: (evil * len(data.texts))[: len(data.texts)]}, len(data.texts))
    text = as_json(replace(data, columns=columns))
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text)["columns"][0]["values"][0] in evil
