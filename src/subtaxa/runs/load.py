"""A run folder, read back into a fitted state. Nothing in the folder is ever executed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from subtaxa.clustering.calibration import Calibration
from subtaxa.clustering.clusters import Clusters
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.data.texts import CoarseTexts
from subtaxa.encoders.folder_check import check_folder
from subtaxa.errors import InputError
from subtaxa.runs import array_files, layout, reading
from subtaxa.runs.column_files import read_columns
from subtaxa.runs.digests import verify
from subtaxa.runs.run_reader import RunReader
from subtaxa.runs.tree_files import read_tree
from subtaxa.runtime.arrays import LARGEST, within
from subtaxa.runtime.json_files import read_limited
from subtaxa.settings import Settings
from subtaxa.taxonomy.edit_log import read_log
from subtaxa.taxonomy.editing import apply_log
from subtaxa.taxonomy.fitted_state import Categorisation, FittedState, Request

# How far rounding may bring a probability above 1.
ROUNDING = 1e-6

# How often a run is read if another command changes it meanwhile.
ATTEMPTS = 5


def load_run(folder: Path, backend: str = "torch") -> FittedState:
    """The state that was saved in a run folder, edits included. The encoder is loaded when it is first used."""
    for _ in range(ATTEMPTS):
        version = reading.version_of(folder)
        try:
            state = _load(folder, backend)
        except InputError:
            if reading.version_of(folder) == version:
                raise
            continue
        if reading.version_of(folder) == version:
            return state
    raise InputError(f"{str(folder)!r} is being changed by another command: wait until it has finished")


def _load(folder: Path, backend: str) -> FittedState:
    facts = reading.read_run(folder)
    check_folder(folder / layout.MODEL)
    verify(folder, facts, layout.CLUSTERS, layout.FEATURES, layout.COLUMNS, layout.TREE, layout.TREE_NODES)
    state = _state_before_edits(folder, facts, backend)
    _check_consistent(state, folder)
    log = folder / layout.EDITS
    if log.exists():
        _apply_edits(state, log)
    return state


def _state_before_edits(folder: Path, facts: dict[str, Any], backend: str) -> FittedState:
    taxonomy = layout.TRAINED if (folder / layout.EDITS).exists() else layout.TAXONOMY
    arrays = array_files.read_arrays(folder / layout.CLUSTERS)
    try:
        features = array_files.read_arrays(folder / layout.FEATURES)["features"]
        labels = [str(name) for name in facts["labels"]]
        tree, groups, moved = read_tree(folder, len(arrays["labels"]), len(labels))
        trained = Categorisation(
            labels=arrays["labels"],
            confidences=arrays["confidences"],
            taxonomy=reading.read_taxonomy(folder, taxonomy),
            clusters=Clusters(arrays["centroids"], arrays["parents"]),
            known_texts=KnownTexts(arrays["memory_keys"], arrays["memory_categories"]),
            next_id=int(facts["next_id"]),
            groups=groups,
            moved=moved,
        )
        earlier = folder / layout.EARLIER_EDITS
        return FittedState(
            request=Request(facts["categories"], facts["granularity"], facts["preset"], facts["seed"]),
            settings=Settings.from_preset("paper", **facts["settings"]),
            data=_data(folder, facts["data"]),
            coarse_labels=labels,
            features=features,
            map=arrays["map"],
            n_categories=reading.read_category_counts(facts),
            calibration=Calibration.from_dict(facts["confidence"]),
            history=list(facts["history"]),
            timings=dict(facts["timings"]),
            reader=RunReader(folder, facts, features.shape[-1], backend),
            tree=tree,
            trained=trained,
            current=trained,
            columns=read_columns(folder, facts, len(arrays["labels"])),
            earlier_edits=read_limited(earlier, "replace") if earlier.exists() else "",
        )
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError, OSError) as error:
        raise InputError(f"the run folder {str(folder)!r} is damaged ({error}): run discover again") from error


def _data(folder: Path, facts: dict[str, Any]) -> CoarseTexts:
    """The texts and labels of the run."""
    rows = reading.read_assignments(folder)
    return CoarseTexts(
        tuple(rows["text"]),
        tuple(rows["label"]),
        tuple(rows["row"]),
        (),
        str(facts["text_column"]),
        str(facts["label_column"]),
        str(facts["source"]),
    )


def _check_consistent(state: FittedState, folder: Path) -> None:
    """Refuse arrays of another kind or shape than `save` writes, or that refer to something that does not exist."""
    k, n, ids = len(state.taxonomy), len(state.data), state.category_ids.tolist()
    centroids, parents, known = state.clusters.centroids, state.clusters.parents, state.known_texts
    consistent = (
        all(array.dtype.kind == "f" for array in (centroids, state.features, state.map, state.confidences))
        and all(array.dtype.kind in "iu" for array in (parents, state.labels, known.keys, known.categories))
        and all(within(array, -LARGEST, LARGEST) for array in (centroids, state.features, state.map))
        and centroids.ndim == state.features.ndim == 2
        and centroids.shape == (k, state.features.shape[1])
        and parents.shape == (k,)
        and state.labels.shape == state.confidences.shape == (n,) == state.features.shape[:1]
        and state.map.shape == (n, 2)
        and known.keys.shape == known.categories.shape == (known.keys.size,)
        and len(set(ids)) == k
        and set(np.unique(state.labels).tolist()) <= set(ids)
        and set(parents.tolist()) <= set(range(len(state.coarse_labels)))
        and set(known.categories.tolist()) <= set(range(k))
        and state.coarse_labels == sorted(set(state.coarse_labels))
        and set(state.data.labels) <= set(state.coarse_labels)
        and [c.parent for c in state.taxonomy] == [state.coarse_labels[i] for i in parents.tolist()]
        and set(state.n_categories) <= set(state.coarse_labels)
        and _tree_fits(state)
    )
    if not consistent:
        raise InputError(f"the files in the run folder {str(folder)!r} do not belong together: run discover again")
    if not within(state.confidences, 0, 1 + ROUNDING):
        raise InputError(f"{str(folder)!r} holds a confidence that is not from 0 to 1: run discover again")


def _tree_fits(state: FittedState) -> bool:
    """Whether every text and every category is below the same label in the tree and in the taxonomy."""
    if state.tree is None:
        return True
    tree, parents = state.tree.tree, {c.id: c.parent for c in state.taxonomy}
    names = np.array(state.coarse_labels)
    return names[tree.part_labels[tree.parts]].tolist() == list(state.data.labels) and all(
        set(names[tree.labels[list(group)]].tolist() if group else ()) == {parents.get(i)}
        for i, group in state.trained.groups.items()
    )


def _apply_edits(state: FittedState, log: Path) -> None:
    edits = read_log(read_limited(log, "replace"), str(log))
    if any(edit["do"] in ("merge", "split") and "names" not in edit for edit in edits):
        state.saved_names = {c.id: c.name for c in reading.read_taxonomy(log.parent)}
    try:
        apply_log(state, edits)
    except InputError as error:
        raise InputError(f"{str(log)!r} does not belong to this run ({error}): restore the log of this run") from error
