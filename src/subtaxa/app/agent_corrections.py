"""The corrections that an agent may send, with their limits. Their parts are those of `taxonomy/corrections.py`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[int, Field(ge=0, description="A category id, as list_categories gives it.")]
Row = Annotated[int, Field(ge=0, description="The row of a text, as read_texts gives it.")]
Rows = Annotated[list[Row], Field(min_length=1, max_length=1000)]
Name = Annotated[str, Field(min_length=1, max_length=120)]


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Rename(_Sent):
    """Give a category another name."""

    do: Literal["rename"]
    category: Id
    name: Name


class Merge(_Sent):
    """Make several categories of one label one category. The first one keeps its id."""

    do: Literal["merge"]
    categories: Annotated[list[Id], Field(min_length=2, max_length=100)]


class Split(_Sent):
    """Divide a category by the meaning of its texts. `into` is the number of parts; null estimates it."""

    do: Literal["split"]
    category: Id
    into: Annotated[int, Field(ge=2, le=100)] | None = None


class Move(_Sent):
    """Move texts to another category of their label."""

    do: Literal["move"]
    rows: Rows
    to: Id


class New(_Sent):
    """Move texts of one label to a new category."""

    do: Literal["new"]
    rows: Rows
    name: Name


class Wrong(_Sent):
    """Texts that are in the wrong category: each moves to the next best one of its label."""

    do: Literal["wrong"]
    rows: Rows


Correction = Annotated[Rename | Merge | Split | Move | New | Wrong, Field(discriminator="do")]
