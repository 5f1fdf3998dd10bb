"""The plots: what they show, that labels stay apart, and that colours can be read."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import combinations
from pathlib import Path

import pytest

from harness.report import bars, labels, plots, published, rundata, scatter, theme
from tests.harness import fixture_run as fixture

BY_NAME = {plot.name: plot for plot in plots.PLOTS}


@pytest.fixture
def run(tmp_path: Path) -> rundata.Run:
    return rundata.read(fixture.write(tmp_path, fixture.rows(usps=True)))


def panel(run: rundata.Run, dataset: str) -> rundata.Panel:
    return next(panel for panel in run.panels() if panel.dataset == dataset)


def words(svg: str) -> list[str]:
    """The texts of an SVG, thin spaces made plain."""
    root = ET.fromstring(svg)
    found = ("".join(node.itertext()) for node in root.iter() if node.tag.endswith("text"))
    return [text.strip().replace("\u202f", " ") for text in found]


def test_every_model_is_named_in_every_plot(run: rundata.Run) -> None:
    for plot in plots.PLOTS:
        texts = words(plots.inline(plot, panel(run, "digits")))
        for label in ("ProtoNN int8", "ProtoNN float32", "Linear int8", "Linear float32"):
            assert label in texts, f"{label} in {plot.name}"


def test_figures_are_shown_with_all_their_digits(run: rundata.Run) -> None:
    assert {"0.689 ms", "24.9 ms", "96.9 %"} <= set(
        words(plots.inline(BY_NAME["time"], panel(run, "digits")))
    )
    assert "0.0508 ms" in words(plots.inline(BY_NAME["time"], panel(run, "cancer")))


def test_a_model_of_several_budgets_is_one_curve_with_one_name(tmp_path: Path) -> None:
    lines = [
        fixture.row("digits", "protonn", "int8", budget=size, flash_model=size - 5)
        for size in (512, 1024, 2048)
    ]
    one = rundata.read(fixture.write(tmp_path, lines)).panels()[0]
    assert words(plots.inline(BY_NAME["accuracy"], one)).count("ProtoNN int8") == 1
    assert "ProtoNN int8 ≤512 B" in words(plots.inline(BY_NAME["time"], one))


def test_published_numbers_stand_beside_ours(run: rundata.Run) -> None:
    texts = words(plots.inline(BY_NAME["time"], panel(run, "usps-2")))
    assert {"published", "BonsaiOpt", "2.93 ms", "94.4 %", "ProtoNN optimised"} <= set(texts)
    assert "BonsaiOpt" in words(plots.inline(BY_NAME["accuracy"], panel(run, "usps-2")))


def test_a_dataset_without_published_numbers_has_none(run: rundata.Run) -> None:
    assert "published" not in words(plots.inline(BY_NAME["time"], panel(run, "digits")))


def test_published_times_of_the_uno_are_not_drawn_for_another_chip(tmp_path: Path) -> None:
    lines = [{**line, "board": "mega2560"} for line in fixture.rows(usps=True)]
    other = panel(rundata.read(fixture.write(tmp_path, lines)), "usps-2")
    assert all(bar.ours for bar in bars.time_bars(other))


def test_a_board_this_version_does_not_know_still_has_its_plots(tmp_path: Path) -> None:
    lines = [{**line, "board": "future"} for line in fixture.rows()]
    for one in rundata.read(fixture.write(tmp_path, lines)).panels():
        assert one.limits is None
        for plot in plots.PLOTS:
            assert plots.inline(plot, one).startswith("<svg")


def test_the_time_axis_is_logarithmic_only_where_it_has_to_be(tmp_path: Path, run: rundata.Run) -> None:
    assert "time of one prediction, ms (logarithmic)" in words(
        plots.inline(BY_NAME["time"], panel(run, "digits"))
    )
    near = [fixture.row("digits", name, "int8") for name in ("protonn", "linear")]
    close = panel(rundata.read(fixture.write(tmp_path / "near", near)), "digits")
    assert "time of one prediction, ms" in words(plots.inline(BY_NAME["time"], close))


def test_the_boards_limits_are_on_the_memory_plot(run: rundata.Run) -> None:
    assert {"32 256 B", "2 048 B"} <= set(words(plots.inline(BY_NAME["memory"], panel(run, "digits"))))


def test_memory_beyond_the_limit_is_still_labelled(tmp_path: Path) -> None:
    full = fixture.row("digits", "protonn", "int8", flash_total=32_000, ram_static=1_900)
    texts = words(plots.inline(BY_NAME["memory"], rundata.read(fixture.write(tmp_path, [full])).panels()[0]))
    assert {"32 000 B", "1 996 B"} <= set(texts)


def test_descriptions_have_the_numbers(run: rundata.Run) -> None:
    said = {
        name: plot.describe(panel(run, "digits")).replace("\u202f", " ") for name, plot in BY_NAME.items()
    }
    assert "ProtoNN int8 97.3 % at 1 987 B" in said["accuracy"]
    assert "Linear int8 0.689 ms at 96.9 % accuracy" in said["time"]
    assert "ProtoNN int8 4 877 B of flash, 508 B of RAM" in said["memory"]


def test_an_inline_plot_brings_its_own_ids_and_no_colour_of_one_theme(run: rundata.Run) -> None:
    ids: list[str] = []
    for plot in plots.PLOTS:
        for one in run.panels():
            svg = plots.inline(plot, one)
            own = re.findall(r'\bid="([^"]+)"', svg)
            references = re.findall(r'(?:<use[^>]*href="#|url\(#)([^")]+)', svg)
            assert set(references) <= set(own)
            assert not re.search(r"#[0-9a-f]{6}\b", svg.replace("url(#", "url(")), "a fixed colour"
            ids += own
    assert len(ids) == len(set(ids))


def test_files_have_no_date_and_ask_for_a_stack_of_fonts(run: rundata.Run, tmp_path: Path) -> None:
    svg, png = plots.save(BY_NAME["accuracy"], run.panels(), tmp_path)
    text = svg.read_text()
    assert "dc:date" not in text
    assert "Arial" in text
    assert "sans-serif" in text
    assert png.read_bytes().startswith(b"\x89PNG")
    ET.fromstring(text)


def test_text_stays_text(run: rundata.Run, tmp_path: Path) -> None:
    """A screen reader and a search find it, and it is sharp at any size."""
    svg, _ = plots.save(BY_NAME["time"], run.panels(), tmp_path)
    assert {"digits", "cancer", "usps-2"} <= set(words(svg.read_text()))


def overlap(one: labels.Box, other: labels.Box) -> float:
    """The area both cover."""
    across = min(one.right, other.right) - max(one.left, other.left)
    up = min(one.top, other.top) - max(one.bottom, other.bottom)
    return max(across, 0.0) * max(up, 0.0)


def test_labels_do_not_cover_each_other(run: rundata.Run) -> None:
    frame = labels.Box(0, 0, 340, 200)
    points = [labels.Point(100 + 3 * i, 100 + 2 * i, 60, 12, f"p{i}") for i in range(6)]
    boxes = [box for box in labels.place(points, frame) if box is not None]
    assert len(boxes) == len(points)
    assert all(overlap(one, other) == 0 for one, other in combinations(boxes, 2))
    assert all(overlap(box, frame) == pytest.approx(box.area) for box in boxes)


def test_a_label_without_room_is_left_out_unless_it_is_required() -> None:
    frame = labels.Box(0, 0, 30, 20)
    assert labels.place([labels.Point(15, 10, 80, 12, "a", required=False)], frame) == [None]
    assert labels.place([labels.Point(15, 10, 80, 12, "a")], frame) != [None]


def test_a_group_is_named_once() -> None:
    frame = labels.Box(0, 0, 340, 200)
    points = [labels.Point(x, 100, 40, 12, "same", required=False) for x in (50.0, 150.0, 250.0)]
    placed = labels.place(points, frame)
    assert [box is not None for box in placed] == [True, False, False]


def test_a_group_is_named_where_there_is_room() -> None:
    frame = labels.Box(0, 0, 340, 200)
    wall = labels.Box(0, 0, 150, 200)
    points = [labels.Point(x, 100, 40, 12, "same", required=False) for x in (50.0, 250.0)]
    placed = labels.place(points, frame, [wall])
    assert [box is not None for box in placed] == [False, True]


def test_published_points_of_a_method_form_a_curve() -> None:
    curves = scatter.curves([(item, item.size or 0) for item in published.by_size("usps-2")])
    protonn = next(curve for curve in curves if curve[0][0].title == "ProtoNN")
    sizes = [size for _, size in protonn]
    assert len(sizes) > 1
    assert sizes == sorted(sizes)


def test_the_front_is_what_no_other_beats_in_both(run: rundata.Run) -> None:
    best = scatter.front(scatter.TIME.ours(panel(run, "digits")))
    assert [row.title for row, _ in best] == ["Linear int8", "ProtoNN int8", "ProtoNN float32"]


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [theme.INK, theme.MUTED, *theme.FAMILIES.values()], ids=lambda c: c.name)
def test_every_colour_can_carry_text_in_both_themes(colour: theme.Colour) -> None:
    assert contrast(colour.light, theme.PAPER.light) >= 4.5
    assert contrast(colour.dark, theme.PAPER.dark) >= 4.5


def test_colours_are_distinct() -> None:
    assert len({colour.light for colour in theme.COLOURS}) == len(theme.COLOURS)
    tints = {theme.tint(colour.light) for colour in theme.FAMILIES.values()}
    assert len(tints) == len(theme.FAMILIES)
    assert not tints & {colour.light for colour in theme.COLOURS}
