"""The estimator: from texts with coarse labels to named fine categories, in one screen of `fit`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from subtaxa.clustering.calibration import Calibration, calibrate, confidence_of, probabilities
from subtaxa.clustering.clusters import Clusters, Forest, categories
from subtaxa.clustering.known_texts import KnownTexts
from subtaxa.clustering.number_of_categories import CategoryCount, Estimate, choose, exactly, readable
from subtaxa.clustering.requested_number import GRANULARITIES, Wanted, check, wanted
from subtaxa.clustering.text_map import text_map
from subtaxa.data.texts import CoarseTexts
from subtaxa.encoders.lexical import joined, word_features
from subtaxa.errors import InputError, SettingError
from subtaxa.methods import settings_for
from subtaxa.methods.base import TrainingData
from subtaxa.runs.checkpoint_identity import open_checkpoint, unless_refused
from subtaxa.runs.text_reader import Reading, as_texts
from subtaxa.runtime import finite
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.runtime.progress import Progress, progress_for
from subtaxa.settings import NAMES, Settings, check_backend
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.describe import describe
from subtaxa.taxonomy.editable import Editable, Trained
from subtaxa.training.fit_encoder import Engine, Job, encoder_for, learn
from subtaxa.training.memory_budget import Sizes, fit_into_memory
from subtaxa.training.trainer import History

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from subtaxa.taxonomy.update import Update


class Assignment(NamedTuple):
    """Where texts go: the place of each one's category in the taxonomy and how sure that is; the probability of every
    category, if they are right; and the features."""

    place: Ints  # (n,)
    sure: NDArray[np.float64]  # (n,)
    likely: NDArray[np.float64]  # (n, K)
    features: Floats  # (n, D)


class Discovery(Editable, Reading, ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Finds the fine categories below coarse labels.

    `categories` is their number, numbers for some labels as a dict, or "auto"; `granularity` ("coarse", "normal" or
    "fine") shifts what "auto" finds. Every setting left None comes from the preset; see `subtaxa.settings`.
    After `fit`: `labels_` (category of each text), `taxonomy_`, `confidences_`, `outliers_` (texts that fit nowhere),
    `n_categories_` (how many categories each label has, and could have), `map_` (each text's place on a plane),
    `history_`, `settings_`.
    """

    def __init__(
        self,
        categories: int | str | Mapping[str, int] = "auto",
        *,
        granularity: str = "normal",
        preset: str = "default",
        seed: int = 0,
        verbose: bool = False,
        method: str | None = None,
        encoder: str | None = None,
        pooling: str | None = None,
        max_tokens: int | str | None = None,
        trained_layers: int | str | None = None,
        dropout: float | str | None = None,
        pretrain_epochs: int | None = None,
        pretrain_patience: int | None = None,
        pretrain_holdout: float | None = None,
        epochs: int | str | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        schedule: str | None = None,
        warmup: float | None = None,
        schedule_length: float | None = None,
        weight_decay: float | None = None,
        max_grad_norm: float | None = None,
        augment: str | None = None,
        augment_rate: float | str | None = None,
        augment_tokens: int | None = None,
        neighbours: int | str | None = None,
        momentum: float | None = None,
        temperature: float | None = None,
        rank_top_m: int | None = None,
        rank_epochs: int | None = None,
        coarse_weight: float | None = None,
    ) -> None:
        passed = locals()
        for name in ("categories", "granularity", "preset", "seed", "verbose", *NAMES):
            setattr(self, name, passed[name])

    def fit(
        self,
        texts: Sequence[str] | CoarseTexts,
        labels: Sequence[str] | None = None,
        *,
        progress: Progress | None = None,
        checkpoint: str | Path | None = None,
        engine: Engine = learn,
    ) -> Discovery:
        """Find the categories. With a `checkpoint` folder, training is saved there and continues from it. The `engine`
        is what trains: this process, or others (`subtaxa.engines`)."""
        data = _as_data(texts, labels)
        settings = self._checked_settings()
        want = wanted(self.categories, data.texts, data.labels)
        progress = progress or progress_for(quiet=not self.verbose)
        order = sorted(range(len(data)), key=lambda i: (data.labels[i], data.texts[i]))  # the file's order is no matter
        ordered = [data.texts[i] for i in order]
        naming = partial(finite.naming, ordered, [data.rows[i] for i in order])
        names, numbers = np.unique([data.labels[i] for i in order], return_inverse=True)
        number = want.total or max(len(names), readable(len(ordered)))
        estimating = want.total is None and settings.neighbours == "auto"
        settings = settings.for_data(ordered, number)
        with progress.step("Loading the encoder"):
            encoder = encoder_for(settings)
        with progress.step("Reading all texts", len(ordered)) as step:
            tokens = encoder.tokenise(ordered, step.advance)
        sizes = fit_into_memory(Sizes.of(encoder, tokens, settings, number), progress)
        with progress.step("Comparing the words"):
            words, vocabulary = word_features(ordered)
        training = TrainingData(
            tokens,
            torch.from_numpy(numbers),
            len(names),
            number,
            unknown=want.total is None,
            estimating=estimating,
            fixed=want.fixed,
            words=torch.from_numpy(words),
        )
        folder = open_checkpoint(checkpoint, data, settings, self.get_params())
        with unless_refused(folder), naming():
            outcome = engine(encoder, Job(training, settings, self.seed, folder, sizes), progress)
        weight = outcome.words_kept
        features, before = (joined(rows.numpy(), words, weight) for rows in (outcome.after, outcome.before))
        with progress.step("Finding the categories", 2 * len(ordered)) as step:
            forest = Forest(features, numbers, self.seed, step.advance)
            forest, choices = _choices(forest, want, self.granularity, outcome.judged)
            clusters = categories(forest, [choice.chosen for choice in choices], step.advance)
        with progress.step("Measuring how sure they are", len(ordered)) as step:
            confidence, stability = calibrate(features, before, numbers, clusters, self.seed, step.advance)
        with progress.step("Naming the categories"):
            clusters, assignment, taxonomy = describe(ordered, features, numbers, names, clusters, stability)
        sure = confidence_of(probabilities(features, clusters, confidence, numbers), assignment, confidence, numbers)
        places = text_map(features, self.seed, progress)

        back = np.argsort(order)  # from our order to the caller's
        self.labels_: Ints = assignment[back]
        self.confidences_: NDArray[np.float64] = sure[back]
        self.taxonomy_: Taxonomy = replace(taxonomy, editor=self.edit)
        self.coarse_labels_: list[str] = [str(name) for name in names]
        self.clusters_: Clusters = clusters
        self.n_categories_: dict[str, CategoryCount] = dict(zip(self.coarse_labels_, choices, strict=True))
        self.calibration_: Calibration = confidence
        self.features_: Floats = features[back]
        self.map_: Floats = places[back]
        self.edits_, self.earlier_edits_ = [], ""
        self.known_texts_ = KnownTexts.of(ordered, features, assignment, clusters)
        self.trained_ = Trained(self.labels_, self.clusters_, self.taxonomy_, self.known_texts_, self.confidences_)
        self.settings_: Settings = settings
        self.history_: History = outcome.history
        self.timings_: dict[str, float] = dict(progress.timings)
        self.data_: CoarseTexts = data
        self.encoder_ = encoder
        self.vocabulary_ = replace(vocabulary, weight=weight) if vocabulary is not None and weight else None
        return self

    def fit_predict(self, X: Sequence[str], y: Sequence[str] | None = None, **options: Any) -> Ints:
        return self.fit(X, y, **options).labels_

    def predict(self, texts: Sequence[str], labels: Sequence[str] | None = None) -> Ints:
        """The category of each text: the nearest centroid, of its own coarse label where `labels` are given.

        A training text gets the category it has in `labels_`.
        """
        return self.classes_[self.assign(texts, labels).place]

    def predict_proba(self, texts: Sequence[str], labels: Sequence[str] | None = None) -> NDArray[np.float64]:
        """The probability of every category (n, K), if they are right, in the order of `classes_` and `taxonomy_`."""
        return self.assign(texts, labels).likely

    @property
    def classes_(self) -> Ints:
        """The ids of the categories, in the order of `taxonomy_`."""
        check_is_fitted(self, "clusters_")
        return np.array([category.id for category in self.taxonomy_], dtype=np.int64)

    def assign(
        self, texts: Sequence[str], labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Assignment:
        """Everything about new texts in one pass."""
        features = self.transform(texts, progress)
        numbers = None if labels is None else self._numbers(labels, len(features))
        likely = probabilities(features, self.clusters_, self.calibration_, numbers)
        known, place = self.known_texts_.lookup(as_texts(texts))
        if numbers is not None:
            known &= self.clusters_.parents[place] == numbers
        elif known.any():
            own_label = self.clusters_.parents[place[known]]
            likely[known] = probabilities(features[known], self.clusters_, self.calibration_, own_label)
        place = np.where(known, place, likely.argmax(1))
        sure = confidence_of(likely, place, self.calibration_, numbers)
        if numbers is None:  # of the texts it knows, it knows the label too
            sure[known] = confidence_of(likely[known], place[known], self.calibration_, place[known])
        return Assignment(place, sure, likely, features)

    def update(
        self, texts: Sequence[str], labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Update:
        """File more texts and keep them; categories keep their ids, and new ones are proposed."""
        from subtaxa.taxonomy.update import update

        check_is_fitted(self, "clusters_")
        return update(self, as_texts(texts), labels, progress or progress_for(quiet=not self.verbose))

    def save(self, folder: str | Path, *, overwrite: bool = False, command: str = "") -> Path:
        """Write the run folder: categories, assignments, report and the reusable model."""
        from subtaxa.runs.save_and_load import save_run

        check_is_fitted(self, "clusters_")
        return save_run(self, Path(folder), overwrite=overwrite, command=command)

    @classmethod
    def load(cls, folder: str | Path, *, backend: str = "torch") -> Discovery:
        """A fitted estimator from a run folder. Nothing in the folder is ever executed.

        With the `backend` "onnx-int8", new texts are read by an export of the encoder with 8-bit weights.
        """
        from subtaxa.runs.save_and_load import load_run

        check_backend(backend)
        return load_run(cls, Path(folder), backend)

    def plot_map(self, color: str = "label", ax: Axes | None = None) -> Figure:
        """All texts on the map with the names of their labels or, with color="category", of their categories."""
        from subtaxa.report.plots import plot_map

        check_is_fitted(self, "clusters_")
        return plot_map(self, color, ax)

    def plot_sizes(self, ax: Axes | None = None) -> Figure:
        """How many texts each category has, below its label."""
        from subtaxa.report.plots import plot_sizes

        check_is_fitted(self, "clusters_")
        return plot_sizes(self, ax)

    def plot_history(self) -> Figure:
        """What was measured in each epoch of the training."""
        from subtaxa.report.plots import plot_history

        check_is_fitted(self, "clusters_")
        return plot_history(self)

    def _checked_settings(self) -> Settings:
        given = {name: getattr(self, name) for name in NAMES if getattr(self, name) is not None}
        check(self.categories)
        if self.granularity not in GRANULARITIES:
            raise SettingError(f"granularity is {self.granularity!r}: it must be {', '.join(GRANULARITIES)}")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**31:
            raise SettingError(f"seed is {self.seed!r}: it must be a whole number from 0 to 2147483647")
        return settings_for(self.preset, **given)

    def _numbers(self, labels: Sequence[str], n: int) -> Ints:
        """Coarse label numbers of labels given by name."""
        if len(labels) != n:
            raise InputError(f"there are {n} texts but {len(labels)} labels: give each text one label")
        known = {name: number for number, name in enumerate(self.coarse_labels_)}
        for label in labels:
            if str(label) not in known:
                raise InputError(f"label {str(label)!r} was not among the training labels: {', '.join(known)}")
        return np.array([known[str(label)] for label in labels], dtype=np.int64)


def _as_data(texts: Sequence[str] | CoarseTexts, labels: Sequence[str] | None) -> CoarseTexts:
    if isinstance(texts, CoarseTexts):
        return texts
    if labels is None:
        raise InputError("fit needs a coarse label for each text: fit(texts, labels)")
    return CoarseTexts.from_lists(texts, labels, strict=True)


def _choices(
    forest: Forest, want: Wanted, granularity: str, judged: Estimate | None
) -> tuple[Forest, list[CategoryCount]]:
    """How many categories each label gets; with the forest as it is to be cut."""
    if want.total is not None and not want.fixed:
        return exactly(forest, want.total)
    return choose(forest, granularity, want.fixed, judged)
