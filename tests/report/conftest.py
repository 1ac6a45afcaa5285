"""One browser for all tests of the report: Playwright cannot be started twice in one process."""

from __future__ import annotations

from helpers.browser import browser

__all__ = ["browser"]
