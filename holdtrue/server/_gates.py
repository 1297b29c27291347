"""The gate's reports: what each model would do, or did, to the promises."""

import json
from pathlib import Path

from holdtrue._types import JsonObject
from holdtrue.errors import DataError
from holdtrue.promises import GateReport

MOST = 50  # reports of a folder that are looked at, the latest by name


class Gates:
    """Reports in a file, or in a folder with one for each model version; without either, in memory.

    Files are what ``holdtrue gate --out FILE.json`` writes, and are read when asked for. A report's name is that
    of its file.

    Parameters
    ----------
    place : path, optional
    """

    def __init__(self, place: str | Path | None = None) -> None:
        self.place = None if place is None else Path(place)
        self._kept: list[tuple[str, JsonObject]] = []

    @property
    def is_folder(self) -> bool:
        """Whether every report is kept, not only the last: a place without an ending is a folder."""
        return self.place is not None and (self.place.is_dir() or not (self.place.suffix or self.place.exists()))

    def last(self) -> JsonObject | None:
        """The latest report; None where there is none."""
        if self.place is not None and self.place.is_file():
            return _read(self.place)
        found, _ = self.all()
        return found[-1][1] if found else None

    def all(self) -> tuple[list[tuple[str, JsonObject]], int]:
        """Names and reports, oldest first; and how many files could not be read."""
        if self.place is None or not self.place.exists():
            return list(self._kept), 0
        files = sorted(self.place.glob("*.json"))[-MOST:] if self.is_folder else [self.place]
        out, bad = [], 0
        for file in files:
            try:
                out.append((file.stem, _read(file)))
            except DataError:
                bad += 1
        return sorted(out, key=lambda pair: str(pair[1].get("at"))), bad

    def keep(self, report: GateReport) -> JsonObject:
        """Keep a report; return it as it will be told."""
        told = report.to_dict()
        name = f"gate {report.at:%Y-%m-%dT%H%M%SZ}"
        if self.place is None:
            self._kept = [*self._kept[1 - MOST :], (name, told)]
        elif self.is_folder:
            self.place.mkdir(exist_ok=True)
            report.write(self.place / f"{name}.json")
        else:
            report.write(self.place)
        return told


def _read(file: Path) -> JsonObject:
    try:
        report = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(
            f"gate: the report cannot be read ({type(error).__name__}). Run the gate again."
        ) from error
    if not isinstance(report, dict) or report.get("format") != "holdtrue-gate":
        raise DataError("gate: the file is not the gate's report. Write it with `holdtrue gate --out FILE.json`.")
    return report
