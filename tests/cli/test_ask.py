"""`subtaxa ask`: a person at the terminal, and a language model in their place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.chat_server import Model
from helpers.commands import refused
from helpers.corpus import planted_corpus

from subtaxa import Discovery
from subtaxa.cli.main import main
from subtaxa.errors import InputError
from subtaxa.runs import layout, reading
from subtaxa.taxonomy import edit_log

TEXTS, LABELS, _ = planted_corpus(per_topic=20)


@pytest.fixture(scope="module")
def saved(quick: dict[str, object], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "run"
    return Discovery(12, **quick).fit(TEXTS, LABELS).save(folder)  # type: ignore[arg-type]


@pytest.fixture
def run(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "run"))


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Type these lines; then the input ends."""

    def keys(*lines: str) -> None:
        left: Iterator[str] = iter(lines)

        def typed(prompt: str) -> str:
            for line in left:
                return line
            raise EOFError

        monkeypatch.setattr("builtins.input", typed)

    return keys


def active(run: Path) -> list[bool]:
    """The answers that count, in their order."""
    path = run / layout.EDITS
    edits = edit_log.active_edits(edit_log.read_log(path.read_text("utf-8"), path.name)) if path.exists() else []
    return [edit["same"] for edit in edits if edit["do"] == "answer"]


def numbers_agree(run: Path) -> bool:
    """Whether the tables, the taxonomy and the model have the same categories."""
    model = Discovery.load(run)
    rows = (run / "categories.csv").read_text("utf-8").strip().splitlines()
    return len(rows) - 1 == len(model.taxonomy_) == len(reading.read_taxonomy(run)) == len(set(model.labels_))


def test_a_person_answers_skips_undoes_and_comes_back(
    run: Path, types: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    types("n", "what?", "S", "y", "u", "q", "y")
    assert main(["ask", str(run), "--quiet"]) == 0
    shown = capsys.readouterr().out
    assert "Are they one category?" in shown
    assert "Type y, n, s, u or q." in shown
    assert "undone:" in shown
    assert active(run) == [False]
    assert numbers_agree(run)
    types("y")  # Then the input ends, as with Ctrl-D.
    assert main(["ask", str(run), "--quiet"]) == 0
    assert active(run) == [False, True]
    types("u", "u", "u")
    assert main(["ask", str(run), "--quiet"]) == 0
    assert "There is no answer to undo." in capsys.readouterr().out
    assert active(run) == []
    assert numbers_agree(run)


def test_the_budget_counts_answers_and_asking_ends_by_itself(
    run: Path, types: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    types("s", "n", "n", "n")
    assert main(["ask", str(run), "--budget", "2", "--quiet"]) == 0
    assert active(run) == [False, False]
    types(*["y"] * 1000)
    assert main(["ask", str(run), "--quiet"]) == 0
    assert "Nothing more is worth asking." in capsys.readouterr().out
    assert 2 < len(active(run)) < 1000


def test_a_model_is_asked_in_both_orders_and_contradictions_are_skipped(
    run: Path, serve: Callable[..., Model], capsys: pytest.CaptureFixture[str]
) -> None:
    model = serve(
        "SAME", "<think>DIFFERENT?</think> Same.", "SAME", "DIFFERENT", "perhaps", "perhaps", "different", "Different"
    )
    command = ["ask", str(run), "--endpoint", model.url, "--model", "llama", "--budget", "4", "--quiet"]
    assert main(command) == 0
    assert active(run) == [True, False]
    assert "llama gave 2 answers; tokens: " in capsys.readouterr().out
    assert numbers_agree(run)
    one, other = model.told(0), model.told(1)
    assert one["label"] == other["label"]
    assert (one["group 1"], one["group 2"]) == (other["group 2"], other["group 1"])
    assert set(one) == {"label", "group 1", "group 2"}
    assert set(one["group 1"]) <= set(TEXTS)


def test_half_a_model_and_strange_answers_are_refused(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, ["ask", str(run), "--model", "llama"])
    assert "--endpoint and --model go together" in said
    with pytest.raises(InputError, match="the answer is 'yes': it must be True"):
        Discovery.load(run).ask(lambda question: "yes", budget=1)  # type: ignore[arg-type, return-value]
