"""The value of `--categories`."""

from __future__ import annotations

import pytest

from subtaxa.cli.categories_option import parse_categories
from subtaxa.errors import SettingError


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("auto", "auto"),
        ("12", 12),
        ("billing=12,login=5", {"billing": 12, "login": 5}),
        ("a,b=3,c= 4", {"a,b": 3, "c": 4}),
        ("a=b=3", {"a=b": 3}),
    ],
)
def test_the_value_is_parsed(typed: str, expected: object) -> None:
    assert parse_categories(typed) == expected


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("many", "'many'"),
        ("billing=many", "'many'"),
        ("billing=0", "from 1"),
        ("a=1,a=2", "'a' twice"),
        ("a=1,b", "ends in 'b'"),
        ("=", "''"),
    ],
)
def test_an_error_quotes_the_value(typed: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        parse_categories(typed)
