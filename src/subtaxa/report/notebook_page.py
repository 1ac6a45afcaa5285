"""The report inside a notebook."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import escape

from subtaxa.report.page import ReportData, render_report


@dataclass(frozen=True)
class NotebookPage:
    """Notebooks show the report in a frame, which loads nothing and cannot touch the notebook."""

    data: ReportData
    height: int

    def __repr__(self) -> str:
        found = self.data.content
        return f"<interactive report: {len(found.texts):,} texts, {len(found.taxonomy):,} categories>"

    def _repr_html_(self) -> str:
        return (
            '<iframe title="Report" sandbox="allow-scripts allow-forms allow-downloads" referrerpolicy="no-referrer" '
            f'style="width: 100%; height: {self.height}px; border: 1px solid #ccc" '
            f'srcdoc="{escape(render_report(self.data, framed=True))}"></iframe>'
        )
