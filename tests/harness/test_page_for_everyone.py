"""The report on narrow screens, in the dark, by keyboard, for a screen reader, and without its script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import browser
from tests.harness import fixture_run as fixture


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    return fixture.page(tmp_path_factory.mktemp("run"))


@pytest.mark.parametrize("width", [320, 375, 1200])
def test_nothing_is_wider_than_the_screen(report: str, tmp_path: Path, width: int) -> None:
    found = browser.try_out(
        report,
        "found.wide = document.documentElement.scrollWidth; found.screen = innerWidth;",
        tmp_path,
        width=width,
    )
    assert found["screen"] == width
    assert found["wide"] <= width


def test_a_plot_is_one_stop_and_arrows_go_from_point_to_point(report: str, tmp_path: Path) -> None:
    found = browser.try_out(
        report,
        """
        const points = [...document.querySelector(".plot").querySelectorAll("a")];
        const stops = () => points.filter((point) => point.tabIndex === 0).length;
        const places = () => Math.round(document.activeElement.getBoundingClientRect().left);
        const press = (key) =>
          document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
        found.stops = stops();
        points[0].focus();
        found.way = points.map(() => (press("ArrowRight"), places()));
        press("ArrowLeft");
        found.back = places();
        found.after = stops();
        found.tip = document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent;
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert found["stops"] == found["after"] == 1
    assert len(set(found["way"])) == len(found["way"]) == 4
    assert found["back"] == found["way"][-2]
    assert "on digits" in found["tip"]


@pytest.mark.parametrize("dark", [False, True])
def test_all_text_can_be_told_from_what_is_behind_it(report: str, tmp_path: Path, dark: bool) -> None:
    """WCAG's 4.5 to 1, of every text of the page and of a job's details."""
    found = browser.try_out(
        report,
        """
        const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
        const pixel = (colours) => {
          for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
          return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((part) => part / 255)
            .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        };
        const weights = [0.2126, 0.7152, 0.0722];
        const light = (colours) => pixel(colours).reduce((sum, part, n) => sum + part * weights[n], 0);
        document.querySelector("button.open").click();
        const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        found.texts = 0;
        found.faint = [];
        while (walker.nextNode()) {
          const element = walker.currentNode.parentElement;
          const unseen = element.closest("script, noscript, option, [hidden]");
          if (unseen || !walker.currentNode.textContent.trim()) continue;
          const style = getComputedStyle(element);
          const behind = [];
          for (let one = element; one; one = one.parentElement) {
            behind.unshift(getComputedStyle(one).backgroundColor);
          }
          const front = element instanceof SVGElement ? style.fill : style.color;
          const pair = [light(behind), light([...behind, front])].sort((a, b) => b - a);
          const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
          found.texts += 1;
          if (contrast < 4.5) found.faint.push([walker.currentNode.textContent.trim(), contrast]);
        }
        found.paper = light([getComputedStyle(document.body).backgroundColor]);
        """,
        tmp_path,
        dark=dark,
    )
    assert found["problems"] == []
    assert (found["paper"] < 0.1) == dark
    assert found["texts"] > 200
    assert found["faint"] == []


def test_controls_have_names_and_places_are_unique(report: str, tmp_path: Path) -> None:
    found = browser.try_out(
        report,
        """
        document.querySelector("button.open").click();
        const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
        found.twice = ids.filter((id, number) => ids.indexOf(id) !== number);
        const named = (control) => control.getAttribute("aria-label") || control.textContent.trim() ||
          [...(control.labels || [])].map((label) => label.textContent.trim()).join("");
        const controls = [...document.querySelectorAll("button, input, select, a[href], [role=region]")];
        found.nameless = controls.filter((control) => !named(control)).map((control) => control.outerHTML);
        found.controls = controls.length;
        found.lost = [...document.querySelectorAll("a[href^='#']")]
          .map((link) => link.getAttribute("href").slice(1)).filter((id) => !document.getElementById(id));
        found.levels = [...document.querySelectorAll("h1, h2, h3")].map((heading) => heading.tagName);
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert found["twice"] == found["nameless"] == found["lost"] == []
    assert found["controls"] > 50
    assert found["levels"].count("H1") == 1 and "H3" not in found["levels"]


def test_without_a_script_all_but_the_details_can_be_read(report: str, tmp_path: Path) -> None:
    found = browser.try_out_without_scripts(
        report,
        """
        const seen = (path) => [...document.querySelectorAll(path)]
          .filter((element) => element.getBoundingClientRect().height).length;
        found.rows = seen("tbody tr[id]");
        found.plots = seen("svg.plot");
        found.notes = [...document.querySelectorAll("noscript p")].map((note) => note.textContent);
        found.controls = seen("form, button, dialog");
        const [point] = document.querySelectorAll(".plot a");
        found.leads_to = document.querySelector(point.getAttribute("href")).tagName;
        """,
        tmp_path,
    )
    assert found["problems"] == []
    assert (found["rows"], found["plots"], found["controls"]) == (12, 3 * 5, 0)
    assert "need JavaScript" in found["notes"][0]
    assert found["leads_to"] == "TR"
