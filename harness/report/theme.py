"""Colours and type, shared by plots and page.

Every colour is a pair, one for light and one for dark paper, each with a contrast of at least 4.5 to its
paper so that it can carry text. The hues are those of Okabe and Ito's palette, which the colour-blind can
tell apart; nothing relies on hue alone all the same: points and bars are labelled, number formats differ in
shape.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

FONTS = ("Arial", "Liberation Sans", "Helvetica", "DejaVu Sans")
"""Plots are laid out with the first that is installed; the last comes with matplotlib."""
STACK = "Arial, 'Liberation Sans', 'Helvetica Neue', Helvetica, system-ui, sans-serif"
"""What the SVG asks the reader's machine for."""


@dataclass(frozen=True)
class Colour:
    name: str
    light: str
    dark: str


PAPER = Colour("paper", "#ffffff", "#14171a")
INK = Colour("ink", "#1b1f23", "#e9ecef")
MUTED = Colour("muted", "#5b646d", "#a3adb6")
RULE = Colour("rule", "#d9dee3", "#363d44")
FAMILIES = {
    "protonn": Colour("protonn", "#0063a6", "#6cb6f5"),
    "linear": Colour("linear", "#b54a00", "#ff9d5c"),
    "bonsai": Colour("bonsai", "#00735a", "#42cda6"),
    "mlp": Colour("mlp", "#9b3583", "#ec9ad6"),
    "tree": Colour("tree", "#775a00", "#dfba4b"),
    "other": Colour("other", "#46515c", "#b4bec8"),
}
HALO = {"facecolor": PAPER.light, "edgecolor": "none", "pad": 0.6, "alpha": 0.9}
"""Behind a label, so that a grid line does not strike it through."""
SHARED = {
    "forest": "tree",
    "gbdt": "tree",
    "ldkl": "mlp",
    "snc": "bonsai",
    "npc-e": "bonsai",
    "npc-h": "bonsai",
}
"""Families that share the hue of a relative."""
MARKERS = {"int8": "o", "int16": "D", "float32": "s"}
COLOURS = (PAPER, INK, MUTED, RULE, *FAMILIES.values())


def colour(model: str) -> str:
    """The light colour of a model family, which is the one plots are drawn in."""
    return _family(model).light


def css(model: str) -> str:
    """The colour of a model family on a page, where the theme decides."""
    return f"var(--{_family(model).name})"


def _family(model: str) -> Colour:
    return FAMILIES.get(SHARED.get(model, model), FAMILIES["other"])


def tint(hexadecimal: str, share: float = 0.38) -> str:
    """The colour laid thinly on light paper."""
    return "#" + "".join(
        f"{round(255 - share * (255 - int(hexadecimal[i : i + 2], 16))):02x}" for i in (1, 3, 5)
    )


def variables(dark: bool) -> str:
    """The CSS custom properties of one theme."""
    return " ".join(f"--{one.name}: {one.dark if dark else one.light};" for one in COLOURS)


def to_variables(svg: str) -> str:
    """An SVG whose colours follow the page's theme."""
    names = {one.light: f"var(--{one.name})" for one in COLOURS}
    tints = {
        tint(one.light): f"color-mix(in srgb, var(--{one.name}) 38%, var(--paper))"
        for one in FAMILIES.values()
    }
    known = {**tints, **names}
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: known.get(found.group(), found.group()), svg)


def applied() -> AbstractContextManager[None]:
    """matplotlib in this style, for as long as the context lasts."""
    import matplotlib

    settings: Any = style()
    return matplotlib.rc_context(settings)


@cache
def style() -> dict[str, Any]:
    """matplotlib's settings; the salt makes the ids in an SVG the same in every run."""
    from matplotlib import font_manager

    installed = set(font_manager.get_font_names())
    return {
        "font.family": next(font for font in FONTS if font in installed),
        "font.size": 11,
        "text.color": INK.light,
        "axes.edgecolor": RULE.light,
        "axes.linewidth": 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": RULE.light,
        "grid.linewidth": 0.6,
        "xtick.color": RULE.light,
        "ytick.color": RULE.light,
        "xtick.labelcolor": MUTED.light,
        "ytick.labelcolor": MUTED.light,
        "xtick.labelsize": 10.5,
        "ytick.labelsize": 10.5,
        "figure.facecolor": PAPER.light,
        "axes.facecolor": "none",
        "svg.fonttype": "none",
        "svg.hashsalt": "kilobench",
    }
