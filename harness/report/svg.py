"""From matplotlib's SVG file to an element that lives inside a page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from harness.report import theme


def own_fonts(svg: str) -> str:
    """Ask for a stack of fonts; matplotlib names only the one it measured with."""
    font = re.escape(theme.style()["font.family"])
    return re.sub(rf"'{font}'(, sans-serif)?", _stack(), svg)


def _stack() -> str:
    return theme.STACK.replace("'", "&apos;")


def embed(svg: str, prefix: str, description: str, links: Mapping[str, str]) -> str:
    """The svg element alone: sized and lettered by the page, described in words, with ids of its own.

    links: what to call the points that lead to a place in the page, by that place.
    """
    element = svg[svg.index("<svg") :].strip()
    # matplotlib's style would hold for the whole page, which has its own for plots.
    element = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", element, flags=re.DOTALL)
    element = element.replace(f"font-family: {_stack()}; ", "")
    element = re.sub(r"<[^<>]*>", lambda tag: _shorter(tag[0]), element)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', element))
    element = re.sub(
        r' id="([^"]*)"', lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", element
    )
    # What is used again inside the drawing is meant here; links lead out of it, into the page.
    element = re.sub(r'(<use[^>]*href="#|url\(#)', rf"\1{prefix}", element)
    element = re.sub(
        r'<a xlink:href="#([^"]*)"( target="[^"]*")?',
        lambda link: f'<a href="#{link[1]}" aria-label="{escape(links.get(link[1], ""))}"',
        element,
    )
    element = re.sub(r"\s*\n\s*", "\n", element)
    box = re.search(r'viewBox="[^"]+"', element)
    attributes = [
        f'class="plot" role="{"group" if "<a href=" in element else "img"}"',
        f'aria-label="{escape(description)}"',
        box.group() if box else "",
        'xmlns:xlink="http://www.w3.org/1999/xlink"',
    ]
    return re.sub(r"<svg[^>]*", lambda _: f"<svg {' '.join(attributes)}", element, count=1)


def _shorter(tag: str) -> str:
    """Coordinates to a hundredth of a pixel, and no turns by nothing: matplotlib writes one for every text.

    Only inside a tag: what stands between tags is a figure.
    """
    return re.sub(r"(\d\.\d\d)\d+", r"\1", re.sub(r' transform="rotate\(-0 [^)]*\)"', "", tag))
