"""What the pictures of the pages share: colours, the look of a panel, how a picture is written."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams.update({"font.family": "DejaVu Sans", "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402

SOFT, BLUE, ORANGE, GREY, GREEN, PURPLE = "#52606d", "#1f6fb2", "#d9822b", "#9aa5b1", "#3a7d44", "#8e5ba6"


def dress(axes: Any, title: str = "") -> None:
    """The look that all panels share."""
    if title:
        axes.set_title(title, fontsize=9.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e4e7eb", lw=0.5)
    axes.set_axisbelow(True)


def save(figure: Any, folder: Path, name: str, **options: Any) -> None:
    """Write a picture, the same bytes whenever it is drawn from the same numbers."""
    figure.savefig(folder / f"{name}.png", **{"dpi": 130, "metadata": {"Software": None}} | options)
    plt.close(figure)
