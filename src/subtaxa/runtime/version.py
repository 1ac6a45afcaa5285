"""The version of subtaxa, in the one place where it is written."""

from __future__ import annotations

__version__ = "0.2.0"
