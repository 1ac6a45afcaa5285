"""Tables from synthetic runs: numbers computed by hand, the selection of runs, and escaping."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from helpers.bench_records import dna_history, line_of, made_up, row_of, rows_of, three_seeds, whole_benchmark

from subtaxa.bench.consistency import consistent
from subtaxa.bench.datasets import load
from subtaxa.bench.paper import published
from subtaxa.bench.paper.aggregation import MEANING, main_runs, run_names, runs_by_value
from subtaxa.bench.paper.comparison import write_comparison
from subtaxa.bench.paper.plan import BASELINE_ROWS, LATER, TABLE2, TABLE3
from subtaxa.bench.paper.table_files import Bold, code, in_latex, in_markdown
from subtaxa.bench.paper.tables import write_table
from subtaxa.bench.records import Job, Record, choose_variant, identity, read_all, write_record
from subtaxa.errors import InputError

RESEARCH = Path(__file__).parents[3] / "research"
RUNS, PAPER = RESEARCH / "runs", RESEARCH / "paper"


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    root = tmp_path_factory.mktemp("runs")
    whole_benchmark(root)
    return choose_variant(read_all(root), None)


def test_mean_and_deviation_by_hand(tmp_path: Path) -> None:
    records = [*three_seeds(tmp_path / "runs"), made_up(tmp_path / "runs", "hwu64", "wscl", 60.0)]
    text = write_table("2", records, tmp_path)
    assert line_of(text, "DNA")[1:] == [
        *("3", "**72.00 ± 2.65**", "**62.00 ± 2.65**", "**82.00 ± 2.65**", "–", "–", "–"),
        *("**77.00 ± 2.65**", "**67.00 ± 2.65**", "**87.00 ± 2.65**", "–", "–", "–", "60.0", "1,502"),
    ]
    assert line_of(text, "WSCL")[1:9] == ["1", "60.00", "50.00", "70.00", "–", "–", "–", "65.00"]
    row = row_of(tmp_path / "table2.csv", row="DNA")
    assert float(row["paper_acc"]) == 72
    assert float(row["paper_acc_sd"]) == pytest.approx(math.sqrt(7), abs=1e-4)
    assert row["seeds"] == "3"
    assert row["runs"] == "; ".join(f"hwu64/dna/default/seed-{seed}" for seed in range(3))
    assert row_of(tmp_path / "table2.csv", row="WSCL")["paper_acc_sd"] == ""
    assert r"72.00 {\scriptsize$\pm$\,2.65}" in (tmp_path / "table2.tex").read_text()


def test_every_method_has_the_same_four_columns_and_the_budget_stands_above(tmp_path: Path) -> None:
    run = made_up(tmp_path / "runs", "hwu64", "bert", 60.0, budget="short")
    four = {name: {"acc": 60.0 + i, "ari": 50.0, "nmi": 70.0} for i, name in enumerate(MEANING)}
    text = write_table("2", [Record({**run.content, "scores": four}, run.folder)], tmp_path)
    header = line_of(text, "method")
    assert [name for name in header if name.endswith("ACC")] == [
        *("paper ACC", "best-inertia ACC", "centroid ACC", "discover ACC")
    ]
    cells = dict(zip(header, line_of(text, "BERT"), strict=True))
    assert [cells[f"{name} ACC"] for name in MEANING] == ["**60.00**", "**61.00**", "**62.00**", "**63.00**"]
    above = text.split("| method")[0]
    assert "Budget short: the top two layers are trained, with four passes over the texts" in above
    assert "chosen without fine labels" in above


def test_every_row_and_what_was_not_run(tmp_path: Path, benchmark: list[Record]) -> None:
    text = write_table("2", benchmark, tmp_path)
    found = rows_of(tmp_path / "table2.csv")
    assert [row["row"] for row in found if row["dataset"] == "HWU64"] == [*BASELINE_ROWS, *TABLE2, *LATER]
    assert {row["dataset"] for row in found} == {"HWU64", "CLINC", "WOS-part"}
    assert row_of(tmp_path / "table2.csv", dataset="HWU64", row="k-means")["seconds_per_epoch"] == ""
    (missing,) = [line for line in text.splitlines() if line.startswith("not run")]
    assert "CLINC: BERT+CE, DeepCluster, " in missing
    assert "HWU64" not in missing
    assert "| WOS " not in text  # never as the published benchmark
    assert "which is not BERT" in text


def test_a_baseline_with_an_advantage_is_marked_and_never_bold(tmp_path: Path) -> None:
    root = tmp_path / "runs"
    records = [made_up(root, "hwu64", "kmeans-per-label", 90.0), made_up(root, "hwu64", "dna", 70.0)]
    text = write_table("2", records, tmp_path)
    assert line_of(text, "k-means per label ‡")[2] == "90.00"
    assert line_of(text, "DNA")[2] == "**70.00**"
    assert "‡ has an advantage" in text
    assert r"k-means per label $\ddagger$ &" in (tmp_path / "table2.tex").read_text("utf-8")
    assert row_of(tmp_path / "table2.csv", row="k-means per label")
    assert "‡" not in write_table("2", records[1:], tmp_path)


def test_other_methods_get_a_row(tmp_path: Path) -> None:
    records = [made_up(tmp_path / "runs", "hwu64", name) for name in ("mine", "ladder-label", "dna")]
    text = write_table("2", records, tmp_path)
    assert line_of(text, "mine")
    assert "ladder" not in text  # it has its own table


@pytest.mark.parametrize("number", ["2", "4"])
def test_sweeps_and_other_variants_are_not_mixed_in(tmp_path: Path, number: str) -> None:
    root = tmp_path / "runs"
    three_seeds(root, changes={"epochs": 4}, history=dna_history())
    alone = choose_variant(read_all(root), "default_epochs=4")
    wanted = write_table(number, alone, tmp_path)
    other = dna_history(7, begin=0.8)
    made_up(root, "hwu64", "dna", 99.0, changes={"epochs": 4, "neighbours": 15}, history=other)
    made_up(root, "hwu64", "dna", 99.0, changes={"epochs": 40}, history=other)
    made_up(root, "hwu64", "dna", 99.0, limit=500, history=other)
    records = choose_variant(read_all(root), None)
    assert len(records) == 4
    assert write_table(number, records, tmp_path) == wanted
    assert len(runs_by_value(records, "dna", "neighbours")["hwu64"]) == 2


def test_main_runs_are_those_of_the_shortest_name(tmp_path: Path) -> None:
    plain, changed = made_up(tmp_path, "hwu64", "dna"), made_up(tmp_path, "hwu64", "dna", changes={"neighbours": 30})
    assert main_runs([changed, plain]) == [plain]


def test_sweep_compares_like_with_like(tmp_path: Path) -> None:
    """Only seeds that every value has count. A run that changes something else is left out."""
    three_seeds(tmp_path)
    for seed in (0, 2):
        made_up(tmp_path, "hwu64", "dna", 50.0, seed, changes={"neighbours": 30})
    made_up(tmp_path, "hwu64", "dna", 50.0, changes={"neighbours": 30, "epochs": 9})
    made_up(tmp_path, "hwu64", "dna", 50.0, changes={"neighbours": 120})  # as in the main runs
    made_up(tmp_path, "clinc", "dna")  # one value only
    found = runs_by_value(read_all(tmp_path), "dna", "neighbours")
    assert {name: {k: run_names(runs) for k, runs in points.items()} for name, points in found.items()} == {
        "hwu64": {
            30: ["hwu64/dna/default_neighbours=30/seed-{0,2}"],
            120: ["hwu64/dna/default/seed-{0,2}"],
        }
    }


def test_table_1_has_our_counts_and_the_published_ones(tmp_path: Path, benchmark: list[Record]) -> None:
    text = write_table("1", benchmark, tmp_path)
    assert line_of(text, "HWU64")[1:] == ["18", "64", "8,954", "1,031", "18", "64", "8,954", "1,031"]
    assert line_of(text, "WOS-part †")[1:] == ["7", "34", "2,252", "2,420", "7", "33", "8,362", "2,420"]
    assert published.WOS_PART in text
    assert "skipped 45 rows" in text
    assert text.count("skipped 45 rows") == 1


def test_data_that_the_paper_does_not_use(tmp_path: Path) -> None:
    records = [made_up(tmp_path / "runs", "my_data", "dna", history=dna_history(k=20))]
    assert line_of(write_table("1", records, tmp_path), "my_data")[5:] == ["–"] * 4
    assert "published" not in write_table("4", records, tmp_path)
    with pytest.raises(InputError, match="no run uses a method and a data set of the paper"):
        write_comparison(records, tmp_path)


def test_table_3_is_the_ablation_of_the_paper(tmp_path: Path, benchmark: list[Record]) -> None:
    text = write_table("3", benchmark, tmp_path)
    assert [row["row"] for row in rows_of(tmp_path / "table3.csv")] == list(TABLE3)
    assert line_of(text, "+ Reciprocal")[-3:] == ["69.42", "58.16", "82.99"]
    assert "CLINC" not in text  # It has a run of DNA only.
    with pytest.raises(InputError, match="ladder-label"):
        write_table("3", [run for run in benchmark if run.method == "dna"], tmp_path)


def test_table_4_is_the_first_retrieval(tmp_path: Path) -> None:
    """Pretraining also has an epoch 1, which must not count. Accuracy is in percent."""
    rows = [
        {"pretraining": 1.0, "epoch": 1, "accuracy_knn": 0.0, "count_knn": 0.0},
        {"epoch": 1, "accuracy_knn": 0.5, "count_knn": 59, "accuracy_rank": None, "count_rank": 0.0},
        {"epoch": 2, "accuracy_knn": 0.9, "count_knn": 59},
    ]
    root = tmp_path / "runs"
    records = [made_up(root, "wos-part", "dna", history=rows), made_up(root, "clinc", "wscl")]
    text = write_table("4", records, tmp_path)
    assert line_of(text, "k-NN")[1:] == ["50.00", "49.39", "59.00"]
    assert line_of(text, "+Rank")[1:] == ["–", "77.34", "0.00"]
    assert "WOS-part published WOS †" in text
    assert published.WOS_PART in text
    assert "not run: DNA on CLINC" in text
    with pytest.raises(InputError, match="run of dna"):
        write_table("4", records[1:], tmp_path)


@pytest.mark.parametrize("name", ["table1", "table2", "table3", "table4", "compare"])
def test_files_name_their_runs_and_are_the_same_each_time(tmp_path: Path, benchmark: list[Record], name: str) -> None:
    def write(out: Path) -> str:
        return write_comparison(benchmark, out) if name == "compare" else write_table(name[-1], benchmark, out)

    text = write(tmp_path / "once")
    assert write(tmp_path / "again") == text
    files = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert files == [f"{name}.csv", f"{name}.md", f"{name}.tex"]
    for file in files:
        assert (tmp_path / "once" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()
    assert (tmp_path / "once" / f"{name}.md").read_text("utf-8") == text
    assert text.splitlines()[-1].startswith("Runs: `")
    assert "/default/seed-{0,1,2}`" in text
    assert "% run: hwu64/" in (tmp_path / "once" / f"{name}.tex").read_text("utf-8")
    assert all("/default/seed-0" in row["runs"] for row in rows_of(tmp_path / "once" / f"{name}.csv"))


def test_latex_is_balanced(tmp_path: Path, benchmark: list[Record]) -> None:
    write_table("2", benchmark, tmp_path)
    text = (tmp_path / "table2.tex").read_text("utf-8")
    assert text.count(r"\begin{table*}") == text.count(r"\end{table*}") == 3
    assert text.count(r"\begin{tabular}{l" + 15 * "r" + "}") == text.count(r"\bottomrule") == 3
    body = text.split(r"\midrule", 1)[1].split(r"\bottomrule")[0]
    assert {line.count("&") for line in body.splitlines() if line.endswith(r"\\")} == {15}
    assert text.count("{") == text.count("}")


def test_special_characters() -> None:
    assert in_markdown("a|b *c* _d_ e_f <g> `h`\n[i]") == r"a\|b \*c\* \_d\_ e_f \<g\> \`h\` \[i\]"
    assert in_markdown(Bold("1.0")) == "**1.0**"
    assert code("a`b") == "`` a`b ``"
    assert in_latex(r"50% of_a & b $c #d {e} ~ ^ \x") == (
        r"50\% of\_a \& b \$c \#d \{e\} \textasciitilde{} \textasciicircum{} \textbackslash{}x"
    )
    assert in_latex("[1] −2 †") == r"{[}1] $-$2 $\dagger$"


def test_a_data_set_name_with_special_characters(tmp_path: Path) -> None:
    name = "50%|_a_&$b"
    text = write_table("2", [made_up(tmp_path / "runs", name, "dna")], tmp_path)
    assert r"### 50%\|\_a\_\&\$b" in text
    assert r"50\%\textbar{}\_a\_\&\$b." in (tmp_path / "table2.tex").read_text("utf-8")
    assert rows_of(tmp_path / "table2.csv")[0]["dataset"] == name


def test_published_scores() -> None:
    assert published.score("DNA", "clinc", "acc") == 87.66
    assert published.score("DOWN", "hwu64", "nmi") == 86.22
    assert all(published.score(row, "wos", "ari") > 0 for row in TABLE2)
    assert all(published.ablation(row, "hwu64", "acc") for row in TABLE3)
    assert published.ablation("NNCL", "clinc", "acc") is None
    assert published.counts("clinc-lt") == {}


def test_each_data_set_has_its_own_main_variant(tmp_path: Path) -> None:
    """Larger data may have fewer epochs. The variant with the most runs counts, for each data set separately."""
    for method in ("bert", "dna", "down"):
        made_up(tmp_path, "hwu64", method, changes={"epochs": 4})
    for method in ("bert", "dna"):
        made_up(tmp_path, "clinc", method, changes={"epochs": 2})
    made_up(tmp_path, "clinc", "dna", changes={"epochs": 4, "temperature": 0.1})
    made_up(tmp_path, "hwu64", "dna", changes={"epochs": 4, "batch_size": 32})
    found = {(r.dataset, r.method, *sorted(r.changes)) for r in choose_variant(read_all(tmp_path), None)}
    assert found == {
        ("hwu64", "bert", "epochs"),
        ("hwu64", "dna", "epochs"),
        ("hwu64", "down", "epochs"),
        ("hwu64", "dna", "batch_size", "epochs"),
        ("clinc", "bert", "epochs"),
        ("clinc", "dna", "epochs"),
    }
    only = choose_variant(read_all(tmp_path), "default_epochs=2")
    assert {run.dataset for run in only} == {"clinc"}


def test_records_of_0_1_are_read_with_current_names(tmp_path: Path) -> None:
    """They hold the settings rank_dimensions and view, and the protocol lowest."""
    job = Job("hwu64", "dna", changes={"rank_dimensions": 2, "view": "none"})
    scores = {"paper": {"acc": 70.0}, "lowest": {"acc": 71.0}}
    job.folder(tmp_path).mkdir(parents=True)
    write_record(
        job.folder(tmp_path), {**identity(job), "scores": scores, "settings": {"rank_dimensions": 2, "clip": 1}}
    )
    (record,) = read_all(tmp_path)
    assert record.changes == {"rank_top_m": 2, "augment": "none"}
    assert record.settings == {"rank_top_m": 2, "max_grad_norm": 1}
    assert record.score("best-inertia", "acc") == 71
    assert "lowest" not in record.scores


def test_a_sweep_mixes_records_of_0_1_and_of_today(tmp_path: Path) -> None:
    made_up(tmp_path, "hwu64", "dna")
    made_up(tmp_path, "hwu64", "dna", changes={"rank_dimensions": 2})
    made_up(tmp_path, "hwu64", "dna", changes={"rank_top_m": 10})
    found = runs_by_value(choose_variant(read_all(tmp_path), None), "dna", "rank_top_m")
    assert list(found["hwu64"]) == [2, 5, 10]


@pytest.mark.parametrize("path", sorted(PAPER.glob("table?.md")), ids=lambda path: path.stem)
def test_the_recorded_runs_still_make_the_tables_of_the_paper(tmp_path: Path, path: Path) -> None:
    known = [record for record in read_all(RUNS) if record.code]
    text = write_table(path.stem[-1], consistent(choose_variant(known, "short")), tmp_path)
    assert text == path.read_text("utf-8")


def test_table_1_of_the_authors_files_equals_the_papers(tmp_path: Path, benchmark_data: Path) -> None:
    """HWU64 has 8,954 training and 1,031 test texts once quoted tabs are understood."""
    data = load("hwu64", benchmark_data)
    counts = {"train": len(data.train), "test": len(data.test), "coarse": data.n_coarse, "fine": data.n_fine}
    run = made_up(tmp_path / "runs", "hwu64", "dna")
    text = write_table("1", [Record({**run.content, "data": {**run.data, **counts}}, run.folder)], tmp_path)
    read, theirs = line_of(text, "HWU64")[1:5], line_of(text, "HWU64")[5:]
    assert read == theirs == ["18", "64", "8,954", "1,031"]
