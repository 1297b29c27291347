"""Pictures of the counterfactual-training page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from experiments._drawing import BLUE, GREEN, GREY, ORANGE, PURPLE, SOFT, dress, save
from experiments.counterfactual_training._result import Pictures, Result
from experiments.counterfactual_training._settings import PLAIN, RADII
from experiments.counterfactual_training._tables import against, got, printed

COLOURS = {"BL": BLUE, "CT": ORANGE, "CT, ours": GREEN, "PGD": PURPLE, "AR": "#c8a415", "CD": "#b34b5b"}
NAMES = {"BL": "plain", "CT": "CT as printed", "CT, ours": "CT, ours", "PGD": "PGD training"}
Results = Sequence[Result]


def draw(found: Results, folder: Path) -> None:
    """Draw all for which there are results into a folder."""
    for name, make in PICTURES.items():
        figure = make(found)
        if figure is not None:
            figure.tight_layout()
            save(figure, folder, name)


def plane(found: Results) -> Any:
    """Figure 1: linear classifiers by three regimes, everything free and the first feature held."""
    shown = next((r.pictures for r in found if r.dataset == "ls"), None)
    if shown is None:
        return None
    x, y = np.array(shown.x), np.array(shown.y)
    figure, panels = plt.subplots(2, 3, figsize=(9.2, 6.0), sharex=True, sharey=True)
    for panel, axes in zip(shown.panels or (), panels.flat, strict=True):
        for k, colour in ((0, BLUE), (1, ORANGE)):
            axes.scatter(*x[y == k].T, s=7, color=colour, lw=0, alpha=0.45)
        w, b = np.array(panel.weight), panel.bias
        ends = np.array([-4.5, 4.5])
        if abs(w[1]) >= abs(w[0]):
            axes.plot(ends, -(w[0] * ends + b) / w[1], color=GREEN, lw=1.4)
        else:
            axes.plot(-(w[1] * ends + b) / w[0], ends, color=GREEN, lw=1.4)
        stars = np.array(panel.recourse)
        if len(stars):
            axes.scatter(*stars.T, s=34, marker="*", color="#1f2933", lw=0)
        held = "x1 held" if panel.held else "all free"
        axes.set_title(f"{NAMES[panel.kind]}, {held}: {panel.share:.0%} of the slope on x1", fontsize=8.5)
        axes.set(xlim=(-4.2, 4.2), ylim=(-4.2, 4.2))
        dress(axes)
    for axes in panels[1]:
        axes.set_xlabel("x1", color=SOFT)
    for axes in panels[:, 0]:
        axes.set_ylabel("x2", color=SOFT)
    return figure


def gains(found: Results) -> Any:
    """Gains in IP with 99% intervals: CT under both protocols beside print, then ours and PGD training."""
    figure, panels = plt.subplots(1, 2, figsize=(9.4, 4.2), sharey=True)
    titles = [r.title for r in found]
    place = np.arange(len(titles))[::-1]
    theirs = [printed()["ip"].get(t, [np.nan])[0] for t in titles]
    panels[0].scatter(theirs, place, marker="x", color="#1f2933", s=26, lw=1.4, label="printed", zorder=3)
    _gains(panels[0], found, place + 0.16, "CT", "paper", ORANGE, "the paper's protocol")
    _gains(panels[0], found, place - 0.16, "CT", "honest", BLUE, "honest protocol")
    panels[0].set_title("CT as printed", fontsize=9.5)
    _gains(panels[1], found, place + 0.2, "PGD", "honest", PURPLE, "PGD training")
    _gains(panels[1], found, place, "CT", "honest", ORANGE, "CT as printed")
    _gains(panels[1], found, place - 0.2, "CT, ours", "honest", GREEN, "CT, ours")
    panels[1].set_title("honest protocol", fontsize=9.5)
    for axes in panels:
        axes.axvline(0, color=GREY, lw=1)
        axes.set_yticks(place, titles)
        axes.set_xlabel("implausibility below plain training, %", color=SOFT)
        axes.legend(frameon=False, fontsize=8, loc="lower right" if axes is panels[0] else "upper right")
        dress(axes, axes.get_title())
    return figure


def _gains(
    axes: Any, found: Results, place: np.ndarray, kind: str, protocol: str, colour: str, label: str
) -> None:
    points = []
    for result, y in zip(found, place, strict=True):
        below = against(got(result, protocol, "free", kind), PLAIN)
        if below and below.ip:
            points.append((below.ip.gain, y, below.ip.low, below.ip.high))
    if points:
        x, y, low, high = np.array(points).T
        ends = [np.maximum(x - low, 0), np.maximum(high - x, 0)]
        axes.errorbar(x, y, xerr=ends, fmt="o", ms=4, lw=1.2, capsize=2, color=colour, label=label)


def attacks(found: Results) -> Any:
    """Figure 5: accuracy under PGD against its radius."""
    shown = [
        r for r in found if r.dataset not in ("ls", "circ", "moon", "ol") and r.kinds["BL"].curve_pgd is not None
    ]
    rows = 1 if len(shown) < 4 else 2
    columns = -(-len(shown) // rows)
    size = (max(2.4 * columns, 4.2), 2.7 * rows + 0.4)
    figure, panels = plt.subplots(rows, columns, figsize=size, sharex=True, squeeze=False)
    for axes in panels.flat[len(shown) :]:
        axes.set_visible(False)
    for result, axes in zip(shown, panels.flat, strict=False):
        for kind, colour in COLOURS.items():
            if kind in result.kinds:
                curve = np.array(result.kinds[kind].curve_pgd)
                axes.plot(RADII, curve.mean(axis=1), color=colour, lw=1.3, label=NAMES.get(kind, kind))
                axes.fill_between(RADII, curve.min(axis=1), curve.max(axis=1), color=colour, alpha=0.15, lw=0)
        axes.set_ylim(0, 1)
        dress(axes, result.title)
    handles = panels[0, 0].get_legend_handles_labels()
    last = panels.flat[-1]
    if last.get_visible():
        panels[0, 0].legend(*handles, frameon=False, fontsize=7, loc="lower left")
    else:
        last.set_visible(True)
        last.axis("off")
        last.legend(*handles, frameon=False, fontsize=8.5, loc="center left")
    for axes in panels[-1]:
        axes.set_xlabel("radius of PGD", color=SOFT)
    for axes in panels[:, 0]:
        axes.set_ylabel("accuracy", color=SOFT)
    return figure


def digits(found: Results) -> Any:
    """Figure 3: a nought on its way to every other digit, under both protocols."""
    shown = _digits(found)
    if shown is None:
        return None
    rows = {}
    for name, points in (shown.recourse or {}).items():
        kind, protocol = name.rsplit(", ", 1)
        rows[f"{NAMES[kind]},\n{protocol}"] = [shown.factual or "", *points]
    return _mosaic(rows, ["factual", *(f"to {k}" for k in range(1, 10))], "gray")


def saliency(found: Results) -> Any:
    """Figure 4: mean size of integrated gradients by class; five rows of pixels at either end are protected."""
    images = _digits(found)
    if images is None:
        return None
    names = {
        "BL": "plain",
        "CT, protected": "CT as printed,\nprotected",
        "CT, ours, protected": "CT, ours,\nprotected",
    }
    rows = {names[kind]: maps for kind, maps in (images.saliency or {}).items()}
    figure = _mosaic(rows, [str(k) for k in range(10)], "magma")
    for row in range(len(rows)):
        for edge in (5, 23):
            figure.axes[0].axhline(row * PITCH + edge - 0.5, color="white", lw=0.6, ls=":")
    return figure


PITCH = 30  # pixels from one picture to the next


def _mosaic(rows: dict[str, list[str]], columns: list[str], colours: str) -> Any:
    """Pictures in rows and columns, two pixels apart."""
    canvas = np.full((PITCH * len(rows) - 2, PITCH * len(columns) - 2), np.nan)
    for i, images in enumerate(rows.values()):
        for j, image in enumerate(images):
            canvas[i * PITCH : i * PITCH + 28, j * PITCH : j * PITCH + 28] = _image(image)
    figure, axes = plt.subplots(figsize=(9.4, 0.83 * len(rows) + 0.35))
    axes.imshow(canvas, cmap=colours, vmin=0, vmax=255, interpolation="nearest")
    axes.set_yticks(PITCH * np.arange(len(rows)) + 13.5, list(rows), fontsize=8, color=SOFT)
    axes.set_xticks(PITCH * np.arange(len(columns)) + 13.5, columns, fontsize=8, color=SOFT)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return figure


def _digits(found: Results) -> Pictures | None:
    """What MNIST's run kept of images, once there is one."""
    return next((r.pictures for r in found if r.dataset == "mnist"), None)


def _image(kept: str) -> np.ndarray:
    """28 by 28 grey levels, of which each is a byte in hexadecimal digits."""
    return np.frombuffer(bytes.fromhex(kept), np.uint8).reshape(28, 28)


PICTURES = {
    "ct-plane": plane,
    "ct-gains": gains,
    "ct-attacks": attacks,
    "ct-digits": digits,
    "ct-saliency": saliency,
}
