"""A table of reason codes: what compliance has approved, in YAML."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdtrue._types import Json, JsonObject
from holdtrue.errors import DataError
from holdtrue.schema import did_you_mean, parse_yaml

FORMAT = 1
SAMPLES = Path(__file__).parent / "codes"


@dataclass(frozen=True)
class Code:
    """One entry: a code, its sentence, and the features or groups that it stands for."""

    code: str
    text: str
    features: tuple[str, ...] = ()


@dataclass(frozen=True)
class CodeTable:
    """Codes for reasons. Features that share a code are one reason, whose contribution is the sum of theirs.

    Parameters
    ----------
    name : str
        What the table is called in records.
    codes : sequence of Code
    otherwise : Code, optional
        For features that no code names. Without it every feature that may be named needs a code.
    sample : bool
        Whether it is one of holdtrue's samples, which nobody has approved.

    Examples
    --------
    >>> table = CodeTable("ours", [Code("01", "Income is too low for the amount", ("income",))])
    >>> CodeTable.from_dict(table.to_dict()) == table
    True
    """

    name: str
    codes: tuple[Code, ...]
    otherwise: Code | None = None
    sample: bool = False

    def __init__(
        self, name: str, codes: Sequence[Code], otherwise: Code | None = None, sample: bool = False
    ) -> None:
        for field, value in (
            ("name", name),
            ("codes", tuple(codes)),
            ("otherwise", otherwise),
            ("sample", sample),
        ):
            object.__setattr__(self, field, value)
        seen: dict[str, str] = {}
        names = [entry.code for entry in (*self.codes, *([] if otherwise is None else [otherwise]))]
        twice = [code for code in names if names.count(code) > 1]
        if twice:
            raise DataError(f"codes: a code is there twice; got {twice[0]!r}. Join the two entries.")
        for entry in self.codes:
            for feature in entry.features:
                if feature in seen:
                    raise DataError(
                        f"codes: a feature has two codes; got {feature!r} under {seen[feature]!r} and "
                        f"{entry.code!r}. Keep one."
                    )
                seen[feature] = entry.code

    def check(self, names: Sequence[str], known: Sequence[str]) -> None:
        """Refuse a table that knows other columns than the model, or leaves out some that may be named."""
        listed = [feature for entry in self.codes for feature in entry.features]
        odd = [feature for feature in listed if feature not in known]
        if odd:
            raise DataError(
                f"codes: neither a feature nor a group of the schema; got {odd[0]!r}. "
                f"{did_you_mean(odd[0], known)}"
            )
        absent = [name for name in names if name not in listed]
        if absent and self.otherwise is None:
            raise DataError(
                f"codes: features have no code; got {absent[:5]!r}. Add them to a code, or write `otherwise`."
            )

    def to_dict(self) -> JsonObject:
        """Return plain types for YAML and JSON."""
        out: JsonObject = {"holdtrue_codes": FORMAT, "name": self.name}
        if self.sample:
            out["sample"] = True
        out["codes"] = [_entry(code) for code in self.codes]
        if self.otherwise is not None:
            out["otherwise"] = {"code": self.otherwise.code, "text": self.otherwise.text}
        return out

    @classmethod
    def from_dict(cls, raw: Json) -> "CodeTable":
        """Build a table from the plain types of a YAML file."""
        if not isinstance(raw, Mapping) or not isinstance(raw.get("codes"), list):
            raise DataError("codes: must be a mapping with a list of `codes`; see docs/how-to/give-reasons.md.")
        known = ("holdtrue_codes", "name", "sample", "codes", "otherwise")
        for key in raw:
            if key not in known:
                raise DataError(f"codes: unknown section; got {key!r}. {did_you_mean(str(key), known)}")
        if raw.get("holdtrue_codes", FORMAT) != FORMAT:
            raise DataError(f"codes: `holdtrue_codes` must be {FORMAT}; got {raw['holdtrue_codes']!r}.")
        other = raw.get("otherwise")
        return cls(
            str(raw.get("name", "codes")),
            [_code(entry) for entry in raw["codes"]],
            None if other is None else _code(other),
            raw.get("sample") is True,
        )

    @classmethod
    def load(cls, path: str | Path) -> "CodeTable":
        """Read a YAML file; nothing in it is run."""
        try:
            raw = parse_yaml(Path(path).read_text(encoding="utf-8"))
        except Exception as error:  # PyYAML lets any type through
            raise DataError(f"codes: the file cannot be read; got {str(path)!r} ({error}).") from error
        return cls.from_dict(raw)

    def to_yaml(self) -> str:
        """Return the table as YAML text."""
        import yaml

        return yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True)

    def digest(self) -> str:
        """SHA-256 of the table."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()


def sample_codes(name: str) -> str:
    """The text of a sample table, to be filled in with your own columns: ``hmda`` or ``regulation_b``."""
    path = SAMPLES / f"{name}.yaml"
    known = sorted(place.stem for place in SAMPLES.glob("*.yaml"))
    if name not in known:
        raise DataError(f"codes: no such sample; got {name!r}. Known are {known!r}.")
    return path.read_text(encoding="utf-8")


def _entry(code: Code) -> JsonObject:
    return {"code": code.code, "text": code.text, "features": list(code.features)}


def _code(raw: Json) -> Code:
    if not isinstance(raw, Mapping) or not {"code", "text"} <= set(raw) <= {"code", "text", "features"}:
        raise DataError(f"codes: an entry has `code`, `text` and `features`; got {str(raw)[:120]!r}.")
    features = raw.get("features") or []
    if not isinstance(features, list) or not all(isinstance(name, str) for name in features):
        raise DataError(f"codes: `features` must be a list of names; got {str(features)[:120]!r}.")
    if not str(raw["text"]).strip() or len(str(raw["text"])) > 500:
        raise DataError(f"codes: `text` must be of 1 to 500 characters; got {str(raw['text'])[:120]!r}.")
    return Code(str(raw["code"]), str(raw["text"]), tuple(features))
