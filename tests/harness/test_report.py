"""What is read from a run folder, and the tables and sentences made of it."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness import report
from harness.errors import RunFolderError
from harness.jobs import ROW_COLUMNS
from harness.report import latex, numbers, published, rundata, runfiles, summary, tables
from tests.harness import fixture_run as fixture


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fixture.write(tmp_path / "run", fixture.rows())


def test_the_columns_are_those_a_run_writes() -> None:
    assert rundata.COLUMNS == ROW_COLUMNS


def test_rows_come_back_as_they_were_written(folder: Path) -> None:
    run = rundata.read(folder)
    first = run.rows[0]
    assert (first.dataset, first.model, first.numbers) == ("digits", "protonn", "int8")
    assert first.flash_model == 1987
    assert first.accuracy == pytest.approx(438 / 450)
    assert run.about["suite"] == "quick"
    assert [(panel.dataset, len(panel.rows)) for panel in run.panels()] == [("digits", 4), ("cancer", 4)]


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"holds no run: run.json is missing"):
        rundata.read(tmp_path)
    with pytest.raises(RunFolderError, match="There is no folder"):
        rundata.read(tmp_path / "nowhere")


def test_an_empty_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no finished job"):
        rundata.read(fixture.write(tmp_path, []))


def test_a_torn_last_line_is_left_out_and_told(folder: Path) -> None:
    whole = rundata.read(folder).rows
    path = folder / "rows.csv"
    path.write_text(path.read_text()[:-10])
    run = rundata.read(folder)
    assert run.rows == whole[:-1]
    assert len(run.notes) == 1
    assert "cut short" in run.notes[0]


def test_a_line_with_a_missing_column_is_named(folder: Path) -> None:
    path = folder / "rows.csv"
    lines = path.read_text().splitlines()
    lines[3] = lines[3].partition(",")[2]
    path.write_text("\n".join(lines) + "\n")
    whole = len(ROW_COLUMNS)
    with pytest.raises(RunFolderError, match=f"line 4: {whole - 1} columns instead of {whole}"):
        rundata.read(folder)


def test_a_run_of_schema_1_still_opens(folder: Path) -> None:
    whole = rundata.read(folder).rows
    about = folder / "run.json"
    about.write_text(about.read_text().replace('"schema": 2', '"schema": 1'))
    for name in ("rows.csv", "samples.csv"):
        with (folder / name).open(newline="") as file:
            lines = list(csv.DictReader(file))
        with (folder / name).open("w", newline="") as file:
            columns = [column for column in lines[0] if column not in runfiles.SINCE_SCHEMA_2]
            writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)
    run = rundata.read(folder)
    assert run.notes == ()
    assert run.rows == tuple(replace(row, clipped=None) for row in whole)


def test_rows_of_one_model_are_told_apart_by_what_differs(tmp_path: Path) -> None:
    lines = [
        fixture.row("digits", "protonn", "int8"),
        fixture.row("digits", "protonn", "int8", speed="yes"),
        fixture.row("digits", "protonn", "int8", budget=1024, seed=0),
        fixture.row("digits", "protonn", "int8", budget=1024, seed=1),
        fixture.row("digits", "linear", "int8", max_ms="0.9", seed=4),
    ]
    panel = rundata.read(fixture.write(tmp_path, lines)).panels()[0]
    assert panel.labels() == [
        "ProtoNN int8 ≤2 kB",
        "ProtoNN int8 ≤2 kB speed",
        "ProtoNN int8 ≤1 kB seed 0",
        "ProtoNN int8 ≤1 kB seed 1",
        "Linear int8",
    ]


def test_another_files_columns_are_refused(folder: Path) -> None:
    (folder / "rows.csv").write_text("a,b\n1,2\n")
    with pytest.raises(RunFolderError, match="does not begin with the columns"):
        rundata.read(folder)


def test_a_word_where_a_number_belongs_is_named(tmp_path: Path) -> None:
    wrong = fixture.row("digits", "linear", "int8", ms="fast")
    with pytest.raises(RunFolderError, match="ms is 'fast'"):
        rundata.read(fixture.write(tmp_path, [wrong]))


def test_a_damaged_description_is_named(folder: Path) -> None:
    (folder / "run.json").write_text('{"suite": ')
    with pytest.raises(RunFolderError, match=r"run.json cannot be read"):
        rundata.read(folder)


def test_a_later_schema_is_not_guessed_at(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="schema 99"):
        rundata.read(fixture.write(tmp_path, fixture.rows(), schema=99))


def test_an_unfinished_run_says_so(folder: Path) -> None:
    assert rundata.read(folder).notes == ()
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"finished"', '"paused"'))
    (note,) = rundata.read(folder).notes
    assert "not complete" in note


def test_rows_are_held_against_their_samples(folder: Path) -> None:
    path = folder / "samples.csv"
    text = path.read_text()
    path.write_text(text.replace(",449,1,0,0,", ",449,1,1,1,", 1))
    (note,) = rundata.read(folder).notes
    assert note == ("digits, ProtoNN int8: rows.csv has 438 of 450 samples right, samples.csv 439 of 450.")
    path.unlink()
    (note,) = rundata.read(folder).notes
    assert "samples.csv is missing" in note


def test_budgets_tell_rows_of_one_model_apart(tmp_path: Path) -> None:
    lines = [
        fixture.row("digits", "protonn", "int8", budget=1024),
        fixture.row("digits", "protonn", "int8", budget=2048),
        fixture.row("digits", "linear", "int8", budget=2048),
    ]
    (panel,) = rundata.read(fixture.write(tmp_path, lines)).panels()
    assert panel.labels() == ["ProtoNN int8 ≤1 kB", "ProtoNN int8 ≤2 kB", "Linear int8"]


def test_the_report_writes_every_file(folder: Path) -> None:
    made = report.make(folder)
    assert {path.name for path in made.tables} == {"table.md", "table.csv", "table.tex"}
    assert {path.name for path in made.plots} == {
        f"{name}.{kind}"
        for name in ("accuracy", "accuracy-time", "accuracy-energy", "time", "memory")
        for kind in ("svg", "png")
    }
    assert all(path.stat().st_size > 500 for path in (*made.tables, *made.plots, made.page))


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    lines = fixture.rows(usps=True)
    texts = []
    for name in ("one", "two"):
        made = report.make(fixture.write(tmp_path / name, lines))
        texts.append([path.read_bytes() for path in (*made.tables, *made.plots, made.page)])
    assert texts[0] == texts[1]


def test_a_run_of_skipped_jobs_only_still_has_a_report(tmp_path: Path) -> None:
    lines = [fixture.skipped("digits", "protonn", "float32", "It does not fit.")]
    made = report.make(fixture.write(tmp_path, lines))
    assert made.plots == ()
    assert "None of 1 job could be measured." in made.page.read_text()
    assert "It does not fit." in made.page.read_text()


def test_markdown_has_a_line_a_row_and_the_best_in_bold(folder: Path) -> None:
    lines = tables.markdown(rundata.read(folder)).splitlines()
    assert len([line for line in lines if line.startswith("| digits") or line.startswith("| cancer")]) == 8
    assert all(line.count("|") == lines[0].count("|") for line in lines[:10])
    (best,) = [line for line in lines if "| digits | ProtoNN float32" in line]
    assert "**97.6**" in best
    assert "Energy is modelled." in "\n".join(lines)


def test_rows_that_look_the_same_are_equally_good(tmp_path: Path) -> None:
    accuracies = (0.97281, 0.97334, 0.95)
    lines = [fixture.row("digits", "linear", "int8", accuracy=value) for value in accuracies]
    rows = rundata.read(fixture.write(tmp_path, lines)).rows
    assert tables.ACCURACY.best(rows) == set(rows[:2])
    assert tables.MODEL.best(rows) == set(), "all the same is no distinction"


def test_the_csv_has_plain_numbers_and_the_interval(folder: Path) -> None:
    first = next(csv.DictReader(io.StringIO(tables.comma_separated(rundata.read(folder)))))
    assert float(first["accuracy_low_pct"]) < float(first["accuracy_pct"]) < float(first["accuracy_high_pct"])
    assert first["cycles_median"] == "21412"
    assert first["ram_B"] == "508"


def test_latex_escapes_and_closes(tmp_path: Path) -> None:
    lines = [{**fixture.row("digits", "linear", "int8"), "dataset": "a_b & 100 %"}]
    text = latex.table(rundata.read(fixture.write(tmp_path, lines)))
    assert r"a\_b \& 100 \%" in text
    assert text.count("\\begin{tabular}") == text.count("\\end{tabular}") == 1
    assert "11\\,030" in text


def test_the_terminal_table_fits_80_columns(folder: Path) -> None:
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(tables.terminal(rundata.read(folder), console.width))
    text = console.export_text()
    assert "…" not in text
    assert "ProtoNN float32" in text
    assert "12 024".replace(" ", numbers.THIN) in text


def test_a_narrower_terminal_goes_without_columns_rather_than_figures(folder: Path) -> None:
    console = Console(width=60, file=io.StringIO(), record=True)
    console.print(tables.terminal(rundata.read(folder), console.width))
    text = console.export_text()
    assert "…" not in text
    assert "ProtoNN float32" in text and "accuracy" in text
    assert "No room for RAM" in " ".join(text.split())


def test_agreement_is_shown_where_it_is_not_perfect(tmp_path: Path) -> None:
    failed = fixture.row(
        "digits", "linear", "int8", agreement=449 / 450, status="failed", reason="Disagreement."
    )
    run = rundata.read(fixture.write(tmp_path, [failed, fixture.row("digits", "protonn", "int8")]))
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(tables.terminal(run, console.width))
    text = console.export_text()
    assert "agreement" in text
    assert "99.8" in text
    assert "Linear int8 †" in text
    assert any("disagree on 1 of 900 predictions" in sentence for sentence in summary.details(run))
    assert tables.ACCURACY.best(run.rows) == set(), "a failed row competes with none"


def test_the_headline_is_computed(folder: Path) -> None:
    text = summary.headline(rundata.read(folder))
    # 9044/812 = 11.1 and 398220/21412 = 18.6; digits loses 1 of 450 samples.
    assert text.startswith("Integer firmware is 11 to 19 times as fast as float firmware")
    assert "at most 0.22 percentage points less accurate" in text


def test_integers_that_lose_nothing_are_said_to(tmp_path: Path) -> None:
    lines = [fixture.row("cancer", "linear", kind) for kind in ("int8", "float32")]
    assert "no less accurate" in summary.headline(rundata.read(fixture.write(tmp_path, lines)))


def test_integers_that_are_slower_are_not_praised(tmp_path: Path) -> None:
    lines = [
        fixture.row("cancer", "linear", "int8", ms=10),
        fixture.row("cancer", "linear", "float32", ms=5),
    ]
    assert "0.50 times as fast" in summary.headline(rundata.read(fixture.write(tmp_path, lines)))


def test_without_pairs_the_winner_is_the_headline(tmp_path: Path) -> None:
    lines = [fixture.row("digits", "protonn", "int8"), fixture.row("digits", "linear", "int8")]
    text = summary.headline(rundata.read(fixture.write(tmp_path, lines)))
    assert text.startswith("On digits, ProtoNN int8 is the most accurate (97.3")
    assert "Linear int8 the fastest (96.9" in text


def test_only_a_perfect_share_is_called_100_percent() -> None:
    assert numbers.percent(1.0) == f"100{numbers.THIN}%"
    assert numbers.percent(0.99999) == f"99.9{numbers.THIN}%"
    assert numbers.percent(0.5) == f"50.0{numbers.THIN}%"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0508, "0.0508"), (1.338, "1.34"), (24.89, "24.9"), (124.6, "125"), (0, "0"), (9.996, "10.0")],
)
def test_three_digits_are_shown(value: float, text: str) -> None:
    assert numbers.significant(value) == text


def test_large_numbers_keep_all_digits_in_groups() -> None:
    assert numbers.significant(1144.9) == f"1{numbers.THIN}145"
    assert numbers.count(398220) == f"398{numbers.THIN}220"
    assert numbers.kilobytes(1536) == f"1.5{numbers.THIN}kB"


def test_published_numbers_are_found_by_dataset() -> None:
    sized = published.by_size("usps-2")
    bonsai = next(item for item in sized if item.method == "BonsaiOpt")
    assert bonsai.accuracy == pytest.approx(0.9442)
    assert bonsai.size == pytest.approx(512)
    assert all(item.size is not None and item.size <= published.COMPARABLE_BYTES for item in sized)
    timed = published.by_time("usps-2")
    assert "BonsaiOpt" in {item.method for item in timed}
    assert "CloudGBDT" not in {item.method for item in timed}
    assert published.load("digits") == ()


def test_published_numbers_of_compilers_stand_beside_ours() -> None:
    found = {item.title: item for item in published.by_time("usps-10")}
    assert found["Shiftry protonn fixed"].accuracy == pytest.approx(0.92078)
    assert found["Shiftry protonn fixed"].uno_ms == 14.128


def test_a_published_value_that_is_a_remark_is_passed_over() -> None:
    assert all(item.uno_ms is None or item.uno_ms > 0 for item in published.load("cr-multiclass"))
