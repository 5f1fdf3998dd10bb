"""A rectangle of a figure, measured in points from its own lower left corner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from harness.report import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POINTS_PER_INCH = 72.0


@dataclass(frozen=True)
class Area:
    figure: Figure
    """Of 72 dots an inch, so that matplotlib's display units are points too."""
    x: float
    y: float
    width: float
    height: float

    def axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        across, up = self._whole()
        return self.figure.add_axes(
            ((self.x + left) / across, (self.y + bottom) / up, width / across, height / up)
        )

    def text(self, x: float, y: float, text: str, **style: Any) -> None:
        across, up = self._whole()
        self.figure.text((self.x + x) / across, (self.y + y) / up, text, **style)

    def heading(self, title: str, axis: str) -> None:
        """The panel's name, and below it what the axis shows; read before the plot, as a headline is."""
        self.text(0, self.height - 12, title, size=12.5, weight="bold", va="center")
        self.text(0, self.height - 29, axis, size=10.5, color=theme.MUTED.light, va="center")

    def _whole(self) -> tuple[float, float]:
        across, up = self.figure.get_size_inches()
        return float(across) * POINTS_PER_INCH, float(up) * POINTS_PER_INCH


@cache
def text_width(text: str, size: float, bold: bool = False) -> float:
    """How wide a line of text will be, in points, before it is drawn."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family=theme.style()["font.family"], weight="bold" if bold else "normal", size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return float(width)
