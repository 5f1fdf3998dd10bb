"""report.html: one file that needs nothing else, for eyes and for screen readers."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.report import page, rundata
from tests.harness import fixture_run as fixture

VOID = {"meta", "br", "link", "img", "hr", "input"}


class Outline(HTMLParser):
    """Tags with their attributes, and whether every one that was opened was closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> str:
    lines = [*fixture.rows(usps=True), fixture.skipped("usps-2", "protonn", "float32", "Too <large>.")]
    return page.render(rundata.read(fixture.write(tmp_path_factory.mktemp("run"), lines)))


def test_it_is_well_formed(html: str) -> None:
    outline = Outline(html)
    assert outline.open == []
    ids = [attributes["id"] for _, attributes in outline.tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_it_needs_no_network(html: str) -> None:
    outline = Outline(html)
    assert all("src" not in attributes for attributes in outline.all("script"))
    assert outline.all("link") == []
    assert outline.all("img") == []
    addresses = set(re.findall(r"https?://[^\s\"'<>)]+", html))
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses
    assert "@import" not in html
    assert "url(http" not in html


def test_points_lead_to_their_rows_even_without_a_script(html: str) -> None:
    outline = Outline(html)
    rows = {attributes["id"] for attributes in outline.all("tr") if "id" in attributes}
    links = [link for link in outline.all("a") if (link.get("href") or "").startswith("#job-")]
    assert len(links) == 3 * len(rows) == 36
    assert {f"#{row}" for row in rows} == {link["href"] for link in links}
    assert all(link.get("aria-label") for link in links)


def test_tables_have_captions_and_scopes(html: str) -> None:
    outline = Outline(html)
    assert len(outline.all("caption")) == len(outline.all("table")) == 1
    assert all(attributes.get("scope") in {"col", "row", "rowgroup"} for attributes in outline.all("th"))
    rows = [attributes for attributes in outline.all("th") if attributes["scope"] == "row"]
    assert len(rows) == 12
    assert all(attributes.get("data-label") for attributes in outline.all("td"))


def test_plots_are_described(html: str) -> None:
    drawings = Outline(html).all("svg")
    assert len(drawings) == 15
    assert Counter(attributes.get("role") for attributes in drawings) == {"group": 9, "img": 6}
    assert all(len(attributes.get("aria-label") or "") > 60 for attributes in drawings)


def test_it_has_a_language_a_title_and_one_headline(html: str) -> None:
    outline = Outline(html)
    assert outline.all("html")[0]["lang"] == "en"
    assert len(outline.all("h1")) == 1
    assert "<title>quick on Arduino Uno R3 (simulated)</title>" in html
    assert any(attributes.get("name") == "viewport" for attributes in outline.all("meta"))


def test_both_themes_and_print_are_there(html: str) -> None:
    assert "@media screen and (prefers-color-scheme: dark)" in html
    assert "@media print" in html
    for variable in set(re.findall(r"var\(--([a-z]+)\)", html)) - {"share"}:
        assert html.count(f"--{variable}: #") == 2, f"{variable} is defined for light and for dark"


def test_what_comes_from_outside_is_escaped(html: str) -> None:
    assert "Too &lt;large&gt;." in html
    assert "Too <large>" not in html


def test_the_circumstances_are_told(html: str) -> None:
    for text in (
        "avr-gcc 5.4.0",
        "-std=c11 -mmcu=atmega328p -O2",
        "Modelled, not measured",
        "cycle-exact (simulated)",
        "simavr 1.6",
        "commit 0123456789ab",
        "Nothing had to be sent again.",
    ):
        assert text in html, text


def test_a_troubled_link_and_a_changed_source_are_told(tmp_path: Path) -> None:
    job = {"resent": 3, "restarts": 1, "overruns": 2, "streaming": True, "timing": "device timer"}
    lines = [fixture.row("digits", "linear", "int8", target="/dev/ttyACM0")]
    about = {"jobs": {"a": job}, "target": "/dev/ttyACM0", "git": {"commit": "f" * 40, "dirty": True}}
    html = page.render(rundata.read(fixture.write(tmp_path, lines, **about)))
    assert "<h1>quick on Arduino Uno R3</h1>" in html
    assert "3 frames sent again, 2 bytes lost by the receiver, 1 restarts" in html
    assert "with changes that are not committed" in html
    assert "Folded in as they come" in html
    assert "Timing: device timer." in html


def test_a_description_without_details_is_enough(tmp_path: Path) -> None:
    folder = fixture.write(tmp_path, fixture.rows())
    (folder / "run.json").write_text('{"schema": 1, "finished": "yes"}')
    assert "What was measured, and how" in page.render(rundata.read(folder))
