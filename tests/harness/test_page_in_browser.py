"""The report in a real browser: sorting, filtering, hovering, details, and no complaint of the console."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.measure.browser import first_paint
from harness.report import page, rundata
from tests.harness import browser
from tests.harness import fixture_run as fixture


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fixture.page(tmp_path_factory.mktemp("run"))


def test_a_click_on_a_heading_sorts_inside_each_dataset(report: str, tmp_path: Path) -> None:
    found = browser.try_out(
        report,
        """
        const heads = [...document.querySelectorAll("thead th")];
        const column = heads.findIndex((head) => head.textContent.startsWith("time"));
        const times = () => [...document.querySelectorAll("tbody")].map((body) =>
          [...body.querySelectorAll("tr[id]")].map((row) => Number(row.children[column].dataset.value)));
        heads[column].querySelector("button").click();
        found.up = times();
        found.sort = heads[column].getAttribute("aria-sort");
        heads[column].querySelector("button").click();
        found.down = times();
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert found["sort"] == "ascending"
    assert len(found["up"]) == 3
    assert found["up"] == [sorted(times) for times in found["up"]]
    assert found["down"] == [sorted(times, reverse=True) for times in found["up"]]


def test_words_and_choices_filter_the_table_and_the_plots(report: str, tmp_path: Path) -> None:
    found = browser.try_out(
        report,
        """
        const rows = [...document.querySelectorAll("tbody tr[id]")];
        const shown = () => rows.filter((row) => row.offsetHeight).length;
        const search = document.getElementById("search");
        found.all = shown();
        search.value = "protonn digits";
        search.dispatchEvent(new Event("input", {bubbles: true}));
        found.words = shown();
        found.count = document.querySelector("output").textContent;
        found.faded = document.querySelectorAll(".plot a.out").length;
        search.value = "";
        const select = document.querySelector("select[name=numbers]");
        select.value = "float32";
        select.dispatchEvent(new Event("input", {bubbles: true}));
        found.choice = shown();
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert (found["all"], found["words"], found["choice"]) == (12, 2, 6)
    assert found["count"] == "2 of 12 rows"
    assert found["faded"] == 10 * 3


def test_hovering_names_the_model_and_a_click_shows_its_details(report: str, tmp_path: Path) -> None:
    found = browser.try_out(
        report,
        """
        const point = document.querySelector(".plot a[href^='#job-']");
        point.dispatchEvent(new PointerEvent("pointerenter"));
        const tip = document.getElementById("tip");
        found.tip = tip.hidden ? "" : tip.textContent;
        found.marked = document.querySelectorAll("tr.marked").length;
        point.dispatchEvent(new PointerEvent("pointerleave"));
        found.gone = tip.hidden;
        point.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}));
        const dialog = document.querySelector("dialog");
        found.open = dialog.open;
        found.title = dialog.querySelector("h2").textContent;
        found.stages = dialog.querySelector(".stages tbody").textContent;
        found.confusion = [...dialog.querySelectorAll(".confusion tbody td")].map((cell) => cell.textContent);
        dialog.querySelector(".close").click();
        found.closed = !dialog.open;
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert "ProtoNN int8 on digits" in found["tip"]
    assert found["marked"] == 1
    assert found["gone"]
    assert found["open"]
    assert found["title"] == "ProtoNN int8 on digits"
    assert "projection10 rows8\u202f000" in found["stages"]
    assert found["confusion"] == ["", "", "12", "438"]
    assert found["closed"]


def test_the_order_in_which_rows_were_measured_comes_back(report: str, tmp_path: Path) -> None:
    found = browser.try_out(
        report,
        """
        const names = () => [...document.querySelectorAll("tbody tr[id]")].map((row) => row.id).join();
        const order = document.querySelector("select.phone");
        const choose = (value) => {
          order.value = value;
          order.dispatchEvent(new Event("change"));
          return names();
        };
        found.first = names();
        found.sorted = choose("2");
        found.again = choose("");
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert found["sorted"] != found["first"] == found["again"]


def test_too_many_classes_for_a_matrix_are_told_by_their_commonest_mistakes(tmp_path: Path) -> None:
    folder = fixture.write(
        tmp_path / "run", [fixture.row("digits", "linear", "int8", n_samples=300, accuracy=0.8)]
    )
    table = (folder / "samples.csv").read_text().splitlines()
    for number, line in enumerate(table[1:], start=1):
        cells = line.split(",")
        truth = str(number % 60)
        cells[-4:-1] = [truth, *[truth if number % 5 else "7"] * 2]
        table[number] = ",".join(cells)
    (folder / "samples.csv").write_text("\n".join(table) + "\n")
    found = browser.try_out(
        page.render(rundata.read(folder)),
        """
        document.querySelector("button.open").click();
        found.caption = document.querySelector("dialog caption").textContent;
        found.first = [...document.querySelector("dialog tbody tr").cells].map((cell) => cell.textContent);
        found.lines = document.querySelectorAll("dialog tbody tr").length;
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert "60 classes" in found["caption"]
    assert found["first"] == ["0", "7", "5"]
    assert found["lines"] == 12


def test_first_paint_of_a_large_report_is_soon(tmp_path: Path) -> None:
    lines = [
        fixture.row(dataset, model, numbers, budget=size)
        for dataset, model, numbers in fixture.SHAPES
        for size in (512, 1024, 2048, 4096)
    ]
    text = page.render(rundata.read(fixture.write(tmp_path / "run", lines)))
    assert len(text.encode()) < 3_000_000
    browser.chromium_or_skip()
    # On a busy machine; `make measure` holds it to a second.
    assert first_paint(text, tmp_path / "profile") < 5


def test_data_cannot_break_out_of_the_script(tmp_path: Path) -> None:
    hostile = "</script><script>window.problems.push('ran')"
    lines = [{**fixture.row("digits", "linear", "int8"), "model": hostile}]
    found = browser.try_out(
        page.render(rundata.read(fixture.write(tmp_path, lines))),
        """
        const jobs = JSON.parse(document.getElementById("jobs").textContent);
        found.names = Object.values(jobs).map((job) => job.name);
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert "</script>" in json.dumps(found["names"])
