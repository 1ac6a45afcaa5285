"""The estimator: fine categories below coarse labels, in the manner of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from subtaxa.clustering.estimators import estimator_for
from subtaxa.clustering.requested_number import GRANULARITIES, check
from subtaxa.clustering.rules import rule_for
from subtaxa.data.kept_columns import NO_COLUMNS, KeptColumns
from subtaxa.data.texts import ONE_LABEL, CoarseTexts
from subtaxa.errors import InputError, SettingError
from subtaxa.fitting import fit_state
from subtaxa.methods import settings_for
from subtaxa.runtime.arrays import Floats, Ints
from subtaxa.runtime.progress import Progress, progress_for
from subtaxa.settings import NAMES, RENAMED, Settings, check_backend
from subtaxa.taxonomy.assignment import Assignment, assign
from subtaxa.taxonomy.categories import Taxonomy
from subtaxa.taxonomy.editing import ask, edit
from subtaxa.taxonomy.fitted_state import FittedState, Request
from subtaxa.taxonomy.text_reader import as_texts
from subtaxa.training.fit_encoder import Engine, train_encoder

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from subtaxa.report.notebook_page import NotebookPage
    from subtaxa.taxonomy.questions import Question
    from subtaxa.taxonomy.update import Update

Learned = TypeVar("Learned")


def _learned(get: Callable[[FittedState], Learned]) -> Learned:
    """A read-only attribute of a fitted estimator, taken from its state."""
    return cast(Learned, property(lambda self: get(self._fitted_state())))


def _renamed(old: str, new: str) -> Any:
    """An attribute under the name it had in 0.1."""

    def get(self: Discovery) -> Any:
        warnings.warn(
            f"Discovery.{old} is now Discovery.{new}; the old name will be removed in 0.3.0",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(self, new)

    return property(get)


class Discovery(ClusterMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Find the fine-grained categories below coarse labels.

    Every setting that is None comes from the preset. `subtaxa.Settings` lists the settings and their ranges.

    Parameters
    ----------
    categories : int, dict or "auto", default="auto"
        The total number of categories, the number for some labels (as in ``{"billing": 12}``), or "auto" to
        estimate it.
    granularity : {"coarse", "normal", "fine"}, default="normal"
        Whether "auto" chooses fewer or more categories than it finds most plausible.
    preset : {"default", "quick", "paper"}, default="default"
        The set of defaults. "quick" leaves the encoder as it is and trains only a small layer on top of it.
    seed : int, default=0
        The seed of all random numbers. The same seed gives the same result.
    verbose : bool, default=False
        Whether to report progress.
    method, encoder, pooling, prompt, dimensions, max_tokens, trained_layers, dropout, pretrain_epochs, \
pretrain_patience, pretrain_holdout, epochs, batch_size, learning_rate, schedule, warmup, schedule_length, \
weight_decay, untrained_share, max_grad_norm, augment, augment_rate, augment_tokens, neighbours, momentum, \
temperature, rank_top_m, rank_epochs, coarse_weight, cluster_rule, number_estimator, plausible_loss, \
outlier_deviations, label_error_share, new_category_lift
        Settings that replace those of the preset.
    **renamed
        Settings under the names they had in 0.1, with a DeprecationWarning.

    Attributes
    ----------
    labels_ : ndarray of shape (n_texts,)
        The category id of each text.
    taxonomy_ : Taxonomy
        The categories. It can be edited; each edit changes this estimator.
    classes_ : ndarray of shape (n_categories,)
        The category ids, in the order of `taxonomy_`.
    confidences_ : ndarray of shape (n_texts,)
        The calibrated probability that each text is in the right category.
    outliers_ : ndarray of bool of shape (n_texts,)
        Which texts are unlike the other texts of their category.
    n_categories_ : dict of str to CategoryCount
        For each coarse label, the number of categories it has and the range of plausible numbers.
    map_ : ndarray of shape (n_texts, 2)
        The position of each text on a plane, close to similar texts.
    features_ : ndarray of shape (n_texts, n_features)
        The features of the texts after training.
    clusters_ : Clusters
        The centroids of the categories and their coarse labels, in the order of `taxonomy_`.
    tree_ : DescribedTree
        The tree that the categories are a cut of, with names for all nodes.
    coarse_labels_ : list of str
        The coarse labels, sorted.
    data_ : CoarseTexts
        The texts and labels that were fitted.
    columns_ : DataFrame
        The other columns of the texts, in the order of the texts.
    settings_ : Settings
        The settings of the fit. None of them is "auto" any more.
    history_ : list of dict
        What was measured in each epoch of the training.
    timings_ : dict of str to float
        Seconds per step of the fit.
    edits_ : list of dict
        The edits made since the fit.
    state_ : FittedState
        Everything above as one dataclass.

    Examples
    --------
    >>> from subtaxa import Discovery
    >>> texts = ["my card was stolen", "someone stole my card", "i lost my bank card", "a thief took my card",
    ...          "what is the exchange rate", "exchange rate for dollars", "dollars to euros", "the euro rate today",
    ...          "how do i reset my password", "i forgot my password", "password reset link", "new password please"]
    >>> labels = ["bank"] * 8 + ["account"] * 4
    >>> model = Discovery({"bank": 2, "account": 1}, preset="quick").fit(texts, labels)
    >>> [(category.parent, category.size) for category in model.taxonomy_]
    [('account', 4), ('bank', 4), ('bank', 4)]
    >>> bool(model.predict(["they stole my credit card"])[0] == model.labels_[0])
    True

    The taxonomy can be edited. Each edit changes the estimator:

    >>> stolen, rates = model.labels_[0].item(), model.labels_[4].item()
    >>> model.taxonomy_.rename(stolen, "stolen card").by_id()[stolen].name
    'stolen card'
    >>> [category.size for category in model.taxonomy_.merge(stolen, rates).children("bank")]
    [8]
    >>> [category.size for category in model.taxonomy_.undo().children("bank")]
    [4, 4]
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
        prompt: str | None = None,
        dimensions: int | str | None = None,
        max_tokens: int | str | None = None,
        trained_layers: int | str | None = None,
        dropout: float | str | None = None,
        pretrain_epochs: int | None = None,
        pretrain_patience: int | None = None,
        pretrain_holdout: float | None = None,
        epochs: int | str | None = None,
        batch_size: int | None = None,
        learning_rate: float | str | None = None,
        schedule: str | None = None,
        warmup: float | None = None,
        schedule_length: float | None = None,
        weight_decay: float | None = None,
        untrained_share: float | str | None = None,
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
        cluster_rule: str | None = None,
        number_estimator: str | None = None,
        plausible_loss: float | None = None,
        outlier_deviations: float | None = None,
        label_error_share: float | None = None,
        new_category_lift: float | None = None,
        **renamed: Any,
    ) -> None:
        passed = locals()
        for name in ("categories", "granularity", "preset", "seed", "verbose", *NAMES):
            setattr(self, name, passed[name])
        for old, value in renamed.items():
            if old not in RENAMED:
                raise TypeError(f"Discovery.__init__() got an unexpected keyword argument {old!r}")
            new = RENAMED[old]
            warnings.warn(
                f"{old} is now {new}; the old name will be removed in 0.3.0", DeprecationWarning, stacklevel=2
            )
            setattr(self, new, value)

    labels_ = _learned(lambda state: state.labels)
    confidences_ = _learned(lambda state: state.confidences)
    clusters_ = _learned(lambda state: state.clusters)
    known_texts_ = _learned(lambda state: state.known_texts)
    classes_ = _learned(lambda state: state.category_ids)
    outliers_ = _learned(lambda state: state.outliers)
    outlier_threshold_ = _learned(lambda state: state.outlier_threshold)
    n_categories_ = _learned(lambda state: state.n_categories)
    tree_ = _learned(lambda state: state.tree)
    coarse_labels_ = _learned(lambda state: state.coarse_labels)
    calibration_ = _learned(lambda state: state.calibration)
    features_ = _learned(lambda state: state.features)
    map_ = _learned(lambda state: state.map)
    settings_ = _learned(lambda state: state.settings)
    history_ = _learned(lambda state: state.history)
    timings_ = _learned(lambda state: state.timings)
    data_ = _learned(lambda state: state.data)
    columns_: pd.DataFrame = _learned(lambda state: state.columns.to_frame())
    edits_ = _learned(lambda state: state.edits)
    encoder_ = _learned(lambda state: state.reader.encoder)
    vocabulary_ = _learned(lambda state: state.reader.vocabulary)

    numbers_ = _renamed("numbers_", "n_categories_")
    memory_ = _renamed("memory_", "known_texts_")
    confidence_ = _renamed("confidence_", "calibration_")
    lowest_fit_ = _renamed("lowest_fit_", "outlier_threshold_")
    file = _renamed("file()", "assign")

    @property
    def taxonomy_(self) -> Taxonomy:
        return replace(self._fitted_state().taxonomy, editor=self.edit)

    def fit(
        self,
        texts: Sequence[str] | CoarseTexts,
        labels: Sequence[str] | None = None,
        *,
        columns: pd.DataFrame | Mapping[str, Sequence[Any]] | KeptColumns | None = None,
        progress: Progress | None = None,
        checkpoint: str | Path | None = None,
        engine: Engine = train_encoder,
        time_limit: float | None = None,
    ) -> Discovery:
        """Find the categories of texts with coarse labels.

        Parameters
        ----------
        texts : sequence of str, or CoarseTexts
            The texts, or texts with their labels as `read_texts` gives them.
        labels : sequence of str, optional
            The coarse label of each text. Without them, all texts have the label "all".
        columns : DataFrame or dict of lists, optional
            Other columns of the texts, such as dates and channels. They are kept with the texts; nothing is learned
            from them.
        progress : Progress, optional
            What reports progress. By default `verbose` decides.
        checkpoint : path, optional
            A folder in which training is saved and from which it continues.
        engine : callable, optional
            What trains the encoder: this process, or others (`subtaxa.engines`).
        time_limit : float, optional
            About how many seconds this may take. Training ends early; what it has learned by then is used. Reading the
            texts and naming the categories take their time in any case.

        Returns
        -------
        Discovery
            The fitted estimator.
        """
        data = _as_data(texts, labels)
        kept = _as_columns(columns, len(data))
        settings = self._checked_settings()
        request = Request(self.categories, self.granularity, self.preset, self.seed)
        self.state_ = fit_state(data, request, settings, self._progress(progress), checkpoint, engine, time_limit)
        self.state_.columns = kept
        return self

    def fit_predict(self, X: Sequence[str], y: Sequence[str] | None = None, **options: Any) -> Ints:
        """Fit the texts `X` with the coarse labels `y` and return the category id of each text.

        Parameters
        ----------
        X : sequence of str, or CoarseTexts
            The texts.
        y : sequence of str, optional
            The coarse label of each text.
        **options
            Passed on to `fit`.

        Returns
        -------
        ndarray of shape (n_texts,)
            The category ids, as in `labels_`.
        """
        return self.fit(X, y, **options).labels_

    def predict(self, texts: Sequence[str], labels: Sequence[str] | None = None) -> Ints:
        """Predict the category of each text. A training text gets the category that it has in `labels_`.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of str, optional
            The coarse label of each text. The category is then one of that label.

        Returns
        -------
        ndarray of shape (n_texts,)
            The category ids.
        """
        return self.classes_[self.assign(texts, labels).category_index]

    def predict_proba(self, texts: Sequence[str], labels: Sequence[str] | None = None) -> NDArray[np.float64]:
        """Predict the probability of every category for each text, given that the categories themselves are right.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of str, optional
            The coarse label of each text. Categories of other labels then have probability 0.

        Returns
        -------
        ndarray of shape (n_texts, n_categories)
            The probabilities, with one column per category in the order of `classes_`.
        """
        return self.assign(texts, labels).probabilities

    def transform(self, texts: Sequence[str], progress: Progress | None = None) -> Floats:
        """Compute the features of new texts.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        progress : Progress, optional
            What reports progress. By default `verbose` decides.

        Returns
        -------
        ndarray of shape (n_texts, n_features)
            Features of unit length.
        """
        return self._fitted_state().reader.features(as_texts(texts), self._progress(progress))

    def assign(
        self, texts: Sequence[str], labels: Sequence[str] | None = None, progress: Progress | None = None
    ) -> Assignment:
        """Compute category, confidence, probabilities and features of new texts in one pass.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of str, optional
            The coarse label of each text.
        progress : Progress, optional
            What reports progress. By default `verbose` decides.

        Returns
        -------
        Assignment
            A named tuple of arrays.
        """
        return assign(self._fitted_state(), as_texts(texts), labels, self._progress(progress))

    def update(
        self,
        texts: Sequence[str],
        labels: Sequence[str] | None = None,
        progress: Progress | None = None,
        *,
        columns: pd.DataFrame | Mapping[str, Sequence[Any]] | KeptColumns | None = None,
    ) -> Update:
        """Add new texts. Categories keep their ids and names; new ones are proposed where new texts form a group.

        Earlier edits can no longer be undone.

        Parameters
        ----------
        texts : sequence of str
            The texts.
        labels : sequence of str, optional
            The coarse label of each text.
        progress : Progress, optional
            What reports progress. By default `verbose` decides.
        columns : DataFrame or dict of lists, optional
            Other columns of the texts, as in `fit`. A column that is not given is empty for the new texts.

        Returns
        -------
        Update
            The number of texts that went to existing categories, and the new categories.
        """
        from subtaxa.taxonomy.update import update

        new = as_texts(texts)
        kept = _as_columns(columns, len(new))
        return update(self._fitted_state(), new, labels, self._progress(progress), kept)

    def recut(self, categories: int | Mapping[str, int] | None = None, *, finer: bool | None = None) -> Taxonomy:
        """Choose other categories from the tree of this run, without training.

        Categories that stay the same keep their ids, and names that a person gave stay. The edit can be undone.

        Parameters
        ----------
        categories : int or dict, optional
            The total number of categories, or the numbers for some labels, as in ``{"billing": 6}``.
        finer : bool, optional
            True for about a quarter more categories than now, False for fewer.

        Returns
        -------
        Taxonomy
            The categories after the edit.
        """
        return self.edit("recut", categories=categories, finer=finer)

    def ask(self, answer: Callable[[Question], bool | None], budget: int = 30) -> Taxonomy:
        """Ask whether two groups of texts are one category, and move the categories to where the answers put them.

        Each answer also decides about groups that were not asked about. Asking stops when nothing is worth asking.
        Answers are edits: they are saved with the run, they can be undone, and later questions take them into account.

        Parameters
        ----------
        answer : callable
            It gets a `Question` and returns True (one category), False (two) or None (skip). ``question.left`` and
            ``question.right`` have ``texts``, the most typical first, and ``indices``, their positions among the
            fitted texts.
        budget : int, default=30
            The largest number of questions.

        Returns
        -------
        Taxonomy
            The categories after the answers.
        """
        if type(budget) is not int or budget < 0:
            raise SettingError(f"budget is {budget!r}: it must be a whole number of at least 0")
        ask(self._fitted_state(), answer, budget)
        return self.taxonomy_

    def edit(self, kind: str, **what: Any) -> Taxonomy:
        """Apply one edit, or refuse it and change nothing. `Taxonomy` and `recut` have a method for each kind.

        Parameters
        ----------
        kind : {"split", "merge", "rename", "move", "recut", "undo"}
            The kind of edit.
        **what
            The arguments of the method of that name.

        Returns
        -------
        Taxonomy
            The categories after the edit.
        """
        edit(self._fitted_state(), kind, **what)
        return self.taxonomy_

    def save(self, folder: str | Path, *, overwrite: bool = False, command: str = "") -> Path:
        """Write a run folder: categories, assignments, the report and the model.

        Parameters
        ----------
        folder : path
            The folder, which must be new or empty.
        overwrite : bool, default=False
            Whether to replace a run that is already there.
        command : str, default=""
            The command line to record in the run.

        Returns
        -------
        Path
            The folder.
        """
        from subtaxa.runs.save import save_run

        return save_run(self._fitted_state(), Path(folder), overwrite=overwrite, command=command)

    @classmethod
    def load(cls, folder: str | Path, *, backend: str = "torch") -> Discovery:
        """Load a fitted estimator from a run folder. Nothing in the folder is ever executed.

        Parameters
        ----------
        folder : path
            The folder that `save` or `subtaxa discover` wrote.
        backend : {"torch", "onnx-int8"}, default="torch"
            What encodes new texts. "onnx-int8" uses an export of the encoder with 8-bit weights.

        Returns
        -------
        Discovery
            The fitted estimator. The encoder is loaded when it is first used.
        """
        from subtaxa.runs.load import load_run

        check_backend(backend)
        state = load_run(Path(folder), backend)
        model = cls(**vars(state.request))
        model.state_ = state
        return model

    def show(self, height: int = 720) -> NotebookPage:
        """Show the interactive report in a notebook: map, categories, texts, search and sliders. It works offline.

        Corrections in it are downloaded, as in `report.html`. `subtaxa edit` applies them to a saved run.

        Parameters
        ----------
        height : int, default=720
            The height in pixels.

        Returns
        -------
        NotebookPage
            What a notebook shows as the report.
        """
        from subtaxa.report.notebook_page import NotebookPage
        from subtaxa.runs.save import report_data, run_facts

        state = self._fitted_state()
        return NotebookPage(report_data(state, run_facts(state)), height)

    def plot_map(self, color: str = "label", ax: Axes | None = None) -> Figure:
        """Plot all texts on a plane, with the names of their labels or categories.

        Parameters
        ----------
        color : {"label", "category"}, default="label"
            What the colours and names stand for.
        ax : matplotlib Axes, optional
            The axes to draw in.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        from subtaxa.report.plots import plot_map

        return plot_map(self._fitted_state(), color, ax)

    def plot_sizes(self, ax: Axes | None = None) -> Figure:
        """Plot the number of texts in each category, grouped by label.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw in.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        from subtaxa.report.plots import plot_sizes

        return plot_sizes(self._fitted_state(), ax)

    def plot_tree(self, ax: Axes | None = None) -> Figure:
        """Plot a tree of the categories of each label. Similar categories are joined early.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            The axes to draw in.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        from subtaxa.report.tree_plot import plot_tree

        return plot_tree(self._fitted_state(), ax)

    def plot_over_time(self, column: str | None = None, label: str | None = None) -> Figure:
        """Plot how many texts the largest categories have per day, week, month, quarter or year.

        Parameters
        ----------
        column : str, optional
            A column of dates that was given to `fit` as `columns`. By default, it is the first one.
        label : str, optional
            A coarse label. Only its categories are plotted.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        from subtaxa.report.time_plot import plot_over_time

        return plot_over_time(self._fitted_state(), column, label)

    def plot_history(self) -> Figure:
        """Plot what was measured in each epoch of the training.

        Returns
        -------
        matplotlib Figure
            The figure.
        """
        from subtaxa.report.plots import plot_history

        return plot_history(self._fitted_state())

    def _fitted_state(self) -> FittedState:
        check_is_fitted(self, "state_")
        return self.state_

    def _progress(self, progress: Progress | None) -> Progress:
        return progress or progress_for(quiet=not self.verbose)

    def _checked_settings(self) -> Settings:
        given = {name: getattr(self, name) for name in NAMES if getattr(self, name) is not None}
        check(self.categories)
        if self.granularity not in GRANULARITIES:
            raise SettingError(f"granularity is {self.granularity!r}: it must be {', '.join(GRANULARITIES)}")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**31:
            raise SettingError(f"seed is {self.seed!r}: it must be a whole number from 0 to 2147483647")
        settings = settings_for(self.preset, **given)
        rule_for(settings)
        estimator_for(settings)
        return settings


def _as_columns(columns: pd.DataFrame | Mapping[str, Sequence[Any]] | KeptColumns | None, n: int) -> KeptColumns:
    return NO_COLUMNS if columns is None else KeptColumns.of(columns, n)


def _as_data(texts: Sequence[str] | CoarseTexts, labels: Sequence[str] | None) -> CoarseTexts:
    if isinstance(texts, CoarseTexts):
        return texts
    if isinstance(texts, str):
        raise InputError("texts is a single string: give a list of strings")
    texts = list(texts)
    return CoarseTexts.from_lists(texts, [ONE_LABEL] * len(texts) if labels is None else labels, strict=True)
