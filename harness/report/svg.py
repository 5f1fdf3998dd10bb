"""From matplotlib's SVG file to an element that lives inside a page."""

from __future__ import annotations

import re
from html import escape

from harness.report import theme


def own_fonts(svg: str) -> str:
    """Ask for a stack of fonts; matplotlib names only the one it measured with."""
    font = re.escape(theme.style()["font.family"])
    return re.sub(rf"'{font}'(, sans-serif)?", theme.STACK.replace("'", "&apos;"), svg)


def embed(svg: str, prefix: str, description: str) -> str:
    """The svg element alone: sized by the page, described in words, its ids unlike those of other plots."""
    element = svg[svg.index("<svg") :].strip()
    element = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", element, flags=re.DOTALL)
    element = re.sub(r"<[^<>]*>", lambda tag: _shorter(tag[0]), element)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', element))
    element = re.sub(
        r' id="([^"]*)"', lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", element
    )
    element = re.sub(r'(href="#|url\(#)', rf"\1{prefix}", element)
    element = re.sub(r"\s*\n\s*", "\n", element)
    box = re.search(r'viewBox="[^"]+"', element)
    attributes = [
        'class="plot" role="img"',
        f'aria-label="{escape(description)}"',
        box.group() if box else "",
        'xmlns:xlink="http://www.w3.org/1999/xlink"',
    ]
    return re.sub(r"<svg[^>]*", lambda _: f"<svg {' '.join(attributes)}", element, count=1)


def _shorter(tag: str) -> str:
    """Coordinates to a hundredth of a pixel. Only inside a tag: what stands between tags is a figure."""
    return re.sub(r"(\d\.\d\d)\d+", r"\1", tag)
