"""The command `subtaxa update`: a file of new texts into a run folder."""

from __future__ import annotations

from pathlib import Path

from subtaxa.data.texts import iter_tables, resolve_text_column
from subtaxa.errors import InputError
from subtaxa.runs import layout
from subtaxa.runtime.folder_lock import exclusive
from subtaxa.runtime.progress import Progress


def update_run(folder: Path, file: Path, text: str | None, label: str | None, progress: Progress) -> list[str]:
    """Add the texts of a file to a run folder, all or nothing, and what to tell about it."""
    layout.read_run(folder)  # or there is nothing to lock
    with exclusive(folder):
        return _update_alone(folder, file, text, label, progress)


def _update_alone(folder: Path, file: Path, text: str | None, label: str | None, progress: Progress) -> list[str]:
    facts = layout.read_run(folder)
    texts: list[str] = []
    labels: list[str] = []
    with progress.step("Reading the file"):
        for frame in iter_tables(file, text):
            column = resolve_text_column(list(map(str, frame.columns)), text, str(file))
            if label is not None and label not in frame.columns:
                raise InputError(f"there is no column {label!r} in {file}, only {', '.join(map(str, frame.columns))}")
            filled = [bool(str(value).strip()) for value in frame[column]]
            texts += [str(value) for value, some in zip(frame[column], filled, strict=True) if some]
            if label is not None:
                labels += [str(value).strip() for value, some in zip(frame[label], filled, strict=True) if some]
    if not texts:
        raise InputError(f"{str(file)!r} has no texts in it: there is nothing to add")
    with progress.step("Loading the run"):
        from subtaxa.discovery import Discovery

        model = Discovery.load(folder)
    done = model.update(texts, labels if label is not None else None, progress)
    with progress.step("Writing the run"):
        model.save(folder, overwrite=True, command=str(facts["command"]))
    lines = [f"{done.filed:,} new texts filed under the categories there were; see {folder / layout.REPORT}"]
    if done.proposed:
        lines.append("New categories are proposed, since these texts keep to themselves:")
        lines += [f"  {c.id}  {c.parent} / {c.name}  {c.size} texts, such as: {c.examples[0]}" for c in done.proposed]
        lines.append("If one is none of its own: subtaxa merge RUN OTHER CATEGORY")
    return lines
