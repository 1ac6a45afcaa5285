"""The comparison from synthetic runs, with numbers computed by hand.

The default method and its ablation come first, then the rows of the paper.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.bench_records import line_of, made_up, row_of, rows_of, three_seeds

from subtaxa.bench.paper import published
from subtaxa.bench.paper.comparison import write_comparison
from subtaxa.bench.paper.tables import write_table
from subtaxa.bench.records import Record


def with_discover(run: Record, acc: float, **seconds: Any) -> Record:
    """The run as this version writes it, with the scores by `best-inertia` and `discover`."""
    found = {"acc": acc, "ari": acc - 10, "nmi": acc + 10}
    scores = {**run.scores, "best-inertia": {name: value - 1 for name, value in found.items()}, "discover": found}
    return Record({**run.content, "scores": scores, "seconds": {**run.seconds, **seconds}}, run.folder)


def headline(text: str) -> str:
    section = text.split("### ")[1]
    assert section.startswith("subtaxa, default method soft-dna\n")
    return section


def test_the_default_method_comes_first_by_every_protocol(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    records = [made_up(root, "hwu64", "dna", 70.0)]
    for seed, (acc, found, whole) in enumerate(((70.0, 81.0, 300.0), (71.0, 82.0, 360.0), (75.0, 86.0, 390.0))):
        run = made_up(root, "hwu64", "soft-dna", acc, seed, history=[{"epoch": 0}], encoder="my-encoder")
        records.append(with_discover(run, found, whole=whole))
    section = headline(write_comparison(records, tmp_path))
    assert line_of(section, "data set")[1:] == [
        *("seeds", "paper ACC", "paper ARI", "paper NMI", "best-inertia ACC", "best-inertia ARI", "best-inertia NMI"),
        *("centroid ACC", "centroid ARI", "centroid NMI"),
        *("discover ACC", "discover ARI", "discover NMI", "minutes on 2 cores"),
        *("published DOWN ACC", "published DOWN ARI", "published DOWN NMI"),
        *("published DNA ACC", "published DNA ARI", "published DNA NMI"),
    ]
    assert line_of(section, "HWU64")[1:] == [
        *("3", "72.00 ± 2.65", "62.00 ± 2.65", "82.00 ± 2.65", "82.00 ± 2.65", "72.00 ± 2.65", "92.00 ± 2.65"),
        *("77.00 ± 2.65", "67.00 ± 2.65", "87.00 ± 2.65"),
        *("83.00 ± 2.65", "73.00 ± 2.65", "93.00 ± 2.65", "5.8"),  # 350 seconds
        *("78.92", "68.17", "86.22", "70.81", "59.66", "83.31"),
    ]
    for said in ("paper = k-means", "centroid = k-means", "discover = the categories that subtaxa discover finds"):
        assert said in section
    assert (
        "Made with encoder my-encoder, 4 epochs, 2 cores, threads per run 2: hwu64/soft-dna/default/seed-{0,1,2}."
        in section
    )
    cell = row_of(tmp_path / "compare.csv", row="subtaxa", measure="ARI")
    assert (float(cell["paper"]), float(cell["centroid"]), float(cell["discover"])) == (62, 67, 73)
    assert float(cell["discover_sd"]) == pytest.approx(7**0.5, abs=1e-4)
    assert float(cell["minutes"]) == pytest.approx(35 / 6, abs=1e-4)
    assert (cell["published_down"], cell["published_dna"], cell["published_of"]) == ("68.1700", "59.6600", "hwu64")
    assert cell["runs"].endswith("; hwu64/soft-dna/default/seed-2")


def test_the_default_method_on_each_data_set_in_order(tmp_path: Path) -> None:
    """CLINC-LT has no published scores, WOS-part is shown with those of WOS, and other data is left out."""
    root = tmp_path / "runs"
    names = ("wos-part", "clinc-lt", "my_data", "hwu64", "clinc")
    text = write_comparison([with_discover(made_up(root, name, "soft-dna"), 60.0) for name in names], tmp_path)
    section = headline(text)
    assert [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")][1:] == [
        *("CLINC", "HWU64", "CLINC-LT", "WOS-part †"),
    ]
    assert line_of(section, "CLINC-LT")[11:] == ["60.00", "50.00", "70.00", "5.0", *["–"] * 6]
    assert line_of(section, "WOS-part †")[-6:-3] == ["80.00", "67.09", "78.87"]
    assert published.WOS_PART in section
    assert text.count("### ") == 1
    assert "my_data" not in text
    cells = [row for row in rows_of(tmp_path / "compare.csv") if row["dataset"] == "CLINC-LT"]
    assert [(row["measure"], row["discover"], row["published_down"]) for row in cells] == [
        *(("ACC", "60.0000", ""), ("ARI", "50.0000", ""), ("NMI", "70.0000", "")),
    ]
    latex = (tmp_path / "compare.tex").read_text("utf-8")
    assert "CLINC-LT & 1 & 50.00 & 40.00 & 60.00 & 59.00" in latex
    assert r"\begin{tabular}{l" + 20 * "r" + "}" in latex.split(r"\resizebox{\textwidth}{!}{%")[1]
    assert "graphicx" in latex.splitlines()[0]
    assert latex.count("{") == latex.count("}")


def test_missing_scores_and_minutes_are_shown_as_a_dash(tmp_path: Path) -> None:
    """A mean over fewer seeds than the row has would mislead. The time of an interrupted run is unknown."""
    root = tmp_path / "runs"
    old = made_up(root, "hwu64", "soft-dna", 70.0)
    new = with_discover(made_up(root, "hwu64", "soft-dna", 72.0, 1), 90.0, resumed=True, whole=6.0)
    assert line_of(headline(write_comparison([old, new], tmp_path)), "HWU64")[11:15] == ["–", "–", "–", "5.0"]
    assert row_of(tmp_path / "compare.csv", measure="ACC")["discover"] == ""
    assert line_of(headline(write_comparison([new], tmp_path)), "HWU64")[11:15] == ["90.00", "80.00", "100.00", "–"]
    assert line_of(write_table("2", [old, new], tmp_path), "subtaxa")[2] == "**71.00 ± 1.41**"
    assert line_of(write_table("2", [old, new], tmp_path), "subtaxa")[11:14] == ["–", "–", "–"]
    assert line_of(write_table("2", [new], tmp_path), "subtaxa")[11:14] == ["**90.00**", "**80.00**", "**100.00**"]


def test_the_default_method_uses_its_own_settings(tmp_path: Path) -> None:
    """The paper's methods may have fewer epochs. Sweeps of the default method are left out."""
    root = tmp_path / "runs"
    records = [made_up(root, "hwu64", name, changes={"epochs": 2}) for name in ("bert", "dna", "down", "soft-dna")]
    assert line_of(headline(write_comparison(records, tmp_path)), "HWU64")[2] == "50.00"
    records += [made_up(root, "hwu64", "soft-dna", 80.0), made_up(root, "hwu64", "soft-dna", changes={"neighbours": 9})]
    text = write_comparison(records, tmp_path)
    assert line_of(headline(text), "HWU64")[1:3] == ["1", "80.00"]
    assert line_of(text.split("### HWU64, ACC")[1].split("### ")[0], "DNA")[2] == "50.00"
    named = write_comparison(records, tmp_path, "default_epochs=2")
    assert line_of(headline(named), "HWU64")[1:3] == ["1", "50.00"]


def test_without_runs_of_the_default_method_there_is_no_section(tmp_path: Path) -> None:
    text = write_comparison([made_up(tmp_path / "runs", "hwu64", "dna")], tmp_path)
    assert text.split("### ")[1].startswith("HWU64, ACC")
    assert "discover" not in text + (tmp_path / "compare.csv").read_text("utf-8")


def ablation(text: str) -> str:
    section = text.split("### ")[2]
    assert section.startswith("Ablation of the default method\n")
    return section


def names_of(section: str) -> list[str]:
    return [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")][1:]


def test_ablation_of_the_default_method(tmp_path: Path) -> None:
    """The default has ACC 80 and 82; without the reciprocal filter 77 and 80, which is 2.5 less."""
    root = tmp_path / "runs"
    records = []
    for seed in (1, 0):
        records += [
            with_discover(made_up(root, "hwu64", "soft-dna", 80.0 + 2 * seed, seed), 84.0),
            with_discover(made_up(root, "hwu64", "soft-dna", 83.0, seed, changes={"augment": "none"}), 80.0),
            made_up(root, "hwu64", "soft-dna", 70.0, seed, changes={"trained_layers": 2}),
            made_up(root, "hwu64", "soft-dna-momentum", 81.0, seed),
            with_discover(
                made_up(root, "hwu64", "soft-dna-one-sided", 77.0 + 3 * seed, seed), 81.0, training=240 + 60 * seed
            ),
        ]
    text = write_comparison(records, tmp_path)
    section = ablation(text)
    assert line_of(section, "method")[1:] == [
        *("seeds", "paper ACC", "paper ARI", "paper NMI", "centroid ACC", "centroid ARI", "centroid NMI"),
        *("discover ACC", "discover ARI", "discover NMI", "difference", "training minutes"),
    ]
    assert names_of(section) == [
        *("the default", "without the reciprocal filter", "with DNA's momentum encoder, whose features fill the queue"),
        *("augment none", "trained_layers 2"),
    ]
    assert line_of(section, "the default")[1:3] == ["2", "81.00 ± 1.41"]
    assert line_of(section, "the default")[8:] == ["84.00 ± 0.00", "74.00 ± 0.00", "94.00 ± 0.00", "–", "4.0"]
    one_sided = line_of(section, "without the reciprocal filter")
    assert one_sided[1:5] == ["2", "78.50 ± 2.12", "68.50 ± 2.12", "88.50 ± 2.12"]
    assert one_sided[8:] == ["81.00 ± 0.00", "71.00 ± 0.00", "91.00 ± 0.00", "−2.50", "4.5"]
    assert line_of(section, "trained_layers 2")[8:] == ["–", "–", "–", "−11.00", "4.0"]
    assert line_of(section, "augment none")[-2] == "+2.00"
    assert "One part is removed or changed at a time" in section
    assert "HWU64, the same 2 seeds in every row." in section
    assert "hwu64/{soft-dna,soft-dna-momentum,soft-dna-one-sided}/default/seed-{0,1}" in section
    cell = row_of(tmp_path / "compare.csv", row="without the reciprocal filter", measure="ARI")
    assert [float(cell[name]) for name in ("paper", "discover", "difference_default", "training_minutes")] == [
        *(68.5, 71, -2.5, 4.5),
    ]
    assert (cell["method"], cell["seeds"]) == ("soft-dna-one-sided", "2")
    assert cell["runs"] == "hwu64/soft-dna-one-sided/default/seed-0; hwu64/soft-dna-one-sided/default/seed-1"
    assert row_of(tmp_path / "compare.csv", row="the default", measure="ACC")["difference_default"] == ""
    latex = (tmp_path / "compare.tex").read_text("utf-8")
    assert r"\label{compare-ablation-of-the-default-method}" in latex
    assert r"trained\_layers 2 & 2 & 70.00" in latex


def test_the_ablation_uses_comparable_runs_only(tmp_path: Path) -> None:
    """Runs on fewer texts, other data or another preset do not count, nor settings that equal the default's."""
    root = tmp_path / "runs"
    records = [
        made_up(root, "hwu64", "soft-dna", 80.0),
        made_up(root, "clinc", "soft-dna", 90.0),
        made_up(root, "hwu64", "soft-dna", limit=100),
        made_up(root, "hwu64", "soft-dna", limit=100, changes={"augment": "none"}),
        made_up(root, "hwu64", "soft-dna", preset="paper"),
        made_up(root, "hwu64", "soft-dna", changes={"epochs": 4}),
        made_up(root, "hwu64", "soft-dna-one-sided", changes={"epochs": 2}),
        made_up(root, "clinc", "soft-dna-one-sided"),
    ]
    assert "Ablation" not in write_comparison(records, tmp_path)
    records += [made_up(root, "hwu64", "soft-dna", changes={"epochs": 2})]
    assert names_of(ablation(write_comparison(records, tmp_path))) == ["the default", "epochs 2"]
    named = ablation(write_comparison(records, tmp_path, "default_epochs=2"))
    assert names_of(named) == ["the default", "without the reciprocal filter"]


def test_differences_to_the_default_are_over_the_same_seeds(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    records = [made_up(root, "hwu64", "soft-dna", acc, seed) for seed, acc in enumerate((80.0, 90.0))]
    records += [
        made_up(root, "hwu64", "soft-dna-one-sided", 79.0),
        made_up(root, "hwu64", "soft-dna-momentum", 79.0, 7),
    ]
    section = ablation(write_comparison(records, tmp_path))
    assert line_of(section, "without the reciprocal filter")[-2] == "−1.00"
    assert line_of(section, "with DNA's momentum")[-2] == "–"
    assert "the difference is over the seeds that a row shares with the default" in section


def test_the_ablation_does_not_change_the_other_sections(tmp_path: Path) -> None:
    """Many runs of the ablation must not decide which variant the paper's methods use."""
    root = tmp_path / "runs"
    records = [made_up(root, "hwu64", name, 60.0, changes={"epochs": 2}) for name in ("bert", "wscl", "dna")]
    records += [made_up(root, "hwu64", "soft-dna", 80.0)]
    before = write_comparison(records, tmp_path).split("### ")
    for seed in range(4):
        records += [made_up(root, "hwu64", name, 99.0, seed) for name in ("soft-dna-one-sided", "soft-dna-momentum")]
        records += [made_up(root, "hwu64", "soft-dna", 99.0, seed, changes={"augment": "none"})]
    after = write_comparison(records, tmp_path).split("### ")
    assert after[:2] + after[3:-1] == before[:-1]
    assert after[-1].split("Runs: ")[0] == before[-1].split("Runs: ")[0]


def test_comparison_by_hand(tmp_path: Path) -> None:
    """Published ACC on HWU64: BERT 33.52, WSCL 59.52, DNA 70.81, DOWN 78.92. Ours swaps the two best."""
    root = tmp_path / "runs"
    records = three_seeds(root)  # DNA: 72
    ours = {"bert": 60.0, "wscl": 65.0, "down": 71.5, "soft-dna": 90.0}
    records += [made_up(root, "hwu64", method, acc) for method, acc in ours.items()]
    text = write_comparison(records, tmp_path)
    section = text.split("### ")[2]
    assert section.startswith("HWU64, ACC\n")
    assert line_of(section, "DNA")[1:] == ["3", "72.00 ± 2.65", "77.00 ± 2.65", "70.81", "+1.19", "1", "2"]
    assert line_of(section, "DOWN")[1:] == ["1", "71.50", "76.50", "78.92", "−7.42", "2", "1"]
    assert line_of(section, "BERT")[-2:] == ["4", "4"]
    assert "0.80 (paper), 0.80 (centroid); 4 rows" in section  # 1 − 6 · (1 + 1) / (4 · 15)
    row = row_of(tmp_path / "compare.csv", row="DNA", measure="ARI")
    assert float(row["difference_paper"]) == pytest.approx(62 - 59.66)
    assert float(row["difference_centroid"]) == pytest.approx(67 - 59.66)
    assert row["runs"].startswith("hwu64/dna/default/seed-0; ")
    assert "soft-dna" not in section


def test_equal_scores_share_a_rank_and_have_no_correlation(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    records = [made_up(root, "hwu64", method, 60.0) for method in ("bert", "wscl", "dna")]
    section = write_comparison(records, tmp_path).split("### ")[1]
    assert [line_of(section, row)[-2] for row in ("BERT", "WSCL", "DNA")] == ["1", "1", "1"]
    assert "– (paper)" in section


def test_wos_part_is_shown_with_wos_only_with_a_note(tmp_path: Path) -> None:
    text = write_comparison([made_up(tmp_path / "runs", "wos-part", "dna")], tmp_path)
    for section in text.split("### ")[1:4]:
        assert section.startswith("WOS-part, with the published WOS †")
        assert published.WOS_PART in section
    assert r"$\dagger$ WOS-part is not the published WOS benchmark" in (tmp_path / "compare.tex").read_text()
