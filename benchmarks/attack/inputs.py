# ruff: noqa: E501  (what is put in is easier to read in long lines)
"""Inputs that are broken or hostile: typed errors only, nothing obeyed.

python -m benchmarks.attack.inputs [--worlds 1000] [--seed 0] [--processes 1] [--seconds 600] [--print]

Each block is a hundred cases of one kind: a CSV or Parquet file, JSON lines, records, schema, codes and causal
model as YAML, model, certificate, record, level, anchor, evidence and key files, flipped, cut, grown, put
together anew, coded otherwise, or made of types and numbers that no schema has; tables of ten thousand columns;
and texts of people that are formulas, markup, templates, escapes of terminals, in letters, pages, sentences,
reports and what commands print. A case is *fine* (it was read, and means something), *refused* (by an error of
the package's own), or wrong: *crashed* (any other error), *obeyed* (a text was more than a text), *slow* (over
ten seconds of processor time). The functions behind the commands are called in this process. The command ends
with 1 where something is wrong.
"""

import contextlib
import io
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import holdtrue as ht
from benchmarks.attack._damage import damaged, hostile, obeyed
from benchmarks.attack._tally import Attack, Job, Line
from holdtrue.attribution import CodeTable
from holdtrue.causal import SCM
from holdtrue.cli._console import print_json, visible
from holdtrue.errors import HoldtrueError
from holdtrue.handover._archive import packed
from holdtrue.ledger import Anchor, Ledger, Record, read_records
from holdtrue.promises import letters
from holdtrue.reports._render import Page, Section, document, html, markdown
from holdtrue.runs._read import Source
from holdtrue.server._keys import add_key, read_keys
from holdtrue.testing._ledger import promise_to

CASES = 100  # of a block
SLOW = 10.0  # seconds of processor time
WRONG = ("crashed", "obeyed", "slow")
COLUMNS: list[dict[str, Any]] = [
    {"name": "income", "kind": "numeric", "bounds": [0, 100], "step": 0.5, "label": "yearly income", "unit": "k$"},
    {"name": "age", "kind": "integer", "bounds": [18, 99], "direction": "fixed", "missing": 40},
    {"name": "home", "kind": "categorical", "levels": ["rent", "own", "other"], "missing": "level"},
    {"name": "school", "kind": "ordinal", "levels": ["none", "some", "all"], "direction": "increase"},
    {"name": "owner", "kind": "binary", "levels": [0, 1]},
]
RULES = {
    "constraints": [{"coefficients": {"income": 1, "home=own": 2}, "bound": 90, "on": "value"}],
    "implications": [{"was": {"home": ["rent"]}, "then": {"school": ["some", "all"]}}],
}


class Right:
    """One right file of every kind, in a folder of its own."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="attack"))
        rng = np.random.default_rng(0)
        self.table = pd.DataFrame(
            {
                "income": rng.integers(0, 200, 40) / 2, "age": rng.integers(18, 90, 40),
                "home": rng.choice(["rent", "own", "other"], 40), "school": rng.choice(["none", "some", "all"], 40),
                "owner": rng.integers(0, 2, 40), "note": [f"person {i}" for i in range(40)],
            }
        )  # fmt: skip
        self.schema = ht.Schema.from_dict({"holdtrue_schema": 1, "features": COLUMNS, **RULES})
        y = (self.table.income + 20 * self.table.owner > 60).astype(int)
        quick = ht.StandardTraining(n_epochs=5)
        self.clf = ht.RecourseClassifier(
            schema=self.schema, model=ht.Linear(), regime=quick, method=ht.NearestNeighbour(), hold=None,
            random_state=0,
        ).fit(self.table[list(self.schema.names)], y)  # fmt: skip
        self.bytes: dict[str, bytes] = {}
        self.text("csv", self.table.to_csv(index=False))
        self.table.to_parquet(self.file("parquet"))
        self.clf.save(self.file("model"))
        self.text("schema", self.schema.to_yaml())
        self.text("schema json", self.schema.to_json())
        record = promise_to("person 1", valid_until=None)
        self.text("record", record.to_json())
        self.text("records", "".join(promise_to(f"person {i}").to_json() + "\n" for i in range(5)))
        ht.Level(0.95, 0.4).save(self.file("level"))
        with Ledger.create(self.folder / "l.db") as ledger:
            ledger.anchor(b"0123456789abcdef").save(self.file("anchor"))
        self.text("codes", "codes:\n- {code: R01, text: too little income, features: [income]}\n")
        self.text("scm", SCM_TEXT)
        add_key(self.file("keys"), "somebody", "officer")
        made = ht.certify(self.clf, self.table, miscoverage=0.9, failure=0.3, threshold=0.5, apply=False)
        made.save(self.file("certificate"))
        handed = ht.evidence(self.clf, self.table, y, n_people=5, n_reasons=5, groups=["owner"], notes=["a note"])
        handed.save(self.file("evidence"))
        self.members = handed.members()
        for path in self.folder.glob("right *"):
            self.bytes[path.name.removeprefix("right ").removesuffix(".x")] = path.read_bytes()

    def file(self, kind: str) -> Path:
        return self.folder / f"right {kind}.x"

    def text(self, kind: str, text: str) -> None:
        self.file(kind).write_text(text, encoding="utf-8")

    def wrong(self, content: bytes, ending: str = ".x") -> Path:
        """A file with some content."""
        path = self.folder / f"wrong{ending}"
        path.write_bytes(content)
        return path


SCM_TEXT = "holdtrue_scm: 1\nnodes:\n- {name: income}\n- {name: owner, parents: [income]}\n"


@cache
def right() -> Right:
    """The right files, made once in a process."""
    return Right()


# ---- files ----------------------------------------------------------------------------------------------


def _read(path: Path) -> None:
    for chunk in Source(path).chunks(right().schema, 16):
        right().schema.check(chunk.people)


def csv(rng: random.Random) -> None:
    """A damaged CSV file, or one with odd cells."""
    if rng.random() < 0.5:
        _read(right().wrong(damaged(right().bytes["csv"], rng), ".csv"))
        return
    table = right().table.head(rng.randrange(0, 6)).astype(object)
    odd: tuple[Any, ...] = (
        "",
        "inf",
        "-inf",
        "nan",
        10**30,
        -(10**400),
        1e308,
        "1e999",
        date(2026, 2, 1),
        "01.02.2026",
    )
    odd += (True, "TRUE", b"x", [1, 2], {"a": 1}, "\x00", "a\nb", 'a"b', "٣", "1,5", None, "rent ", hostile(rng))
    for _ in range(rng.randrange(1, 4)):
        if len(table):
            table.iat[rng.randrange(len(table)), rng.randrange(table.shape[1])] = rng.choice(odd)
    names = list(table.columns)
    if rng.random() < 0.2:
        names[rng.randrange(len(names))] = rng.choice(("income", "", " ", hostile(rng), "age "))
    text = io.StringIO()
    table.set_axis(names, axis=1).to_csv(text, index=rng.random() < 0.1, sep=rng.choice(",,,;\t|"))
    _read(
        right().wrong(
            text.getvalue().encode(rng.choice(("utf-8", "utf-8-sig", "utf-16", "cp1252")), "replace"), ".csv"
        )
    )


def parquet(rng: random.Random) -> None:
    """A damaged Parquet file."""
    _read(right().wrong(damaged(right().bytes["parquet"], rng), ".parquet"))


def lines(rng: random.Random) -> None:
    """JSON lines, right or damaged, in the place of a table: they are written, and not read."""
    people = right().table.head(rng.randrange(0, 6)).to_dict("records")
    text = "".join(json.dumps(person) + "\n" for person in people).encode()
    _read(
        right().wrong(
            text if rng.random() < 0.1 else damaged(text, rng), rng.choice((".jsonl", ".csv", ".parquet"))
        )
    )


def types(rng: random.Random) -> None:
    """Columns of types and values that a schema does not expect, as Parquet or as a table in memory."""
    n = rng.randrange(0, 4)
    odd: list[Callable[[], Any]] = [
        lambda: pa.array([2**64 - 1] * n, pa.uint64()), lambda: pa.array([Decimal("1.5")] * n),
        lambda: pa.array([datetime(2026, 1, 1)] * n, pa.timestamp("ns")), lambda: pa.array([date(2026, 1, 1)] * n),
        lambda: pa.array([[1]] * n, pa.list_(pa.int8())), lambda: pa.array([{"a": 1}] * n, pa.struct([("a", pa.int8())])),
        lambda: pa.array([None] * n, pa.null()), lambda: pa.array([b"\xff"] * n, pa.binary()),
        lambda: pa.array([float("inf")] * n, pa.float64()), lambda: pa.array([float("nan")] * n, pa.float32()),
        lambda: pa.array([True] * n), lambda: pa.array([hostile(rng)] * n, pa.string()),
        lambda: pa.array(["a"] * n).dictionary_encode(), lambda: pa.array([-0.0] * n), lambda: pa.array([2**53 + 1] * n),
        lambda: pa.array([1] * n, pa.time32("s")), lambda: pa.array([1] * n, pa.duration("s")),
        lambda: pa.array([1] * n, pa.int8()),
    ]  # fmt: skip
    base = pa.Table.from_pandas(right().table.head(n), preserve_index=False)
    for _ in range(rng.randrange(1, 3)):
        i = rng.randrange(base.num_columns)
        name = (
            base.column_names[i]
            if rng.random() < 0.9
            else rng.choice(("income", hostile(rng).replace("\x00", "")))
        )
        base = base.set_column(i, name, rng.choice(odd)())
    if rng.random() < 0.5:
        sink = io.BytesIO()
        pq.write_table(base, sink)
        _read(right().wrong(sink.getvalue(), ".parquet"))
    else:
        given: Any = base
        if rng.random() < 0.5:
            try:
                given = base.replace_schema_metadata(None).to_pandas()
            except pa.ArrowException:  # no table of ours: pyarrow itself can make no dataframe of it
                return
        right().schema.check(given)


def wide(rng: random.Random) -> None:
    """A table of ten thousand columns, and as many features."""
    n = 10_000
    names = [f"c{i}" for i in range(n)]
    if rng.random() < 0.5:
        text = (
            ",".join([*names, *right().table.columns])
            + "\n"
            + ",".join(["1"] * (n + right().table.shape[1]))
            + "\n"
        )
        _read(right().wrong(text.encode(), ".csv"))
    else:
        schema = ht.Schema([ht.Feature(name=name, kind="numeric", bounds=(0, 1)) for name in names])
        schema.check(pd.DataFrame(np.full((2, n), rng.choice((0.5, np.inf, np.nan))), columns=names))


# ---- texts that are read ----------------------------------------------------------------------------------

BOMBS = (
    "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{b}: &{b} [{','.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    "[" * 5000 + "]" * 5000, "{a: " * 2000 + "1" + "}" * 2000, "- " * 3000 + "1", "x: " + "y" * 2_000_000,
    "a: !!python/object/apply:os.system ['touch obeyed']", "a: !!python/name:os.system", "--- 1\n--- 2\n", "? [a]\n: b\n",
    "a: 1\na: 2\n", "&a [*a]", "a: &a {b: *a}", "<<: [1]\n", "2026-01-01", "!!binary aaaa", "%TAG ! tag:x,2000:\n---\n!a b\n",
    "a: " + "9" * 5000, "a: 1e99999", "a: 0o7777777777777777777777", "a: 190:20:30:15:20:45", "\ufeffa: 1", "a: \x00",
)  # fmt: skip


def _yaml(kind: str, read: Callable[[str], Any], rng: random.Random) -> None:
    if rng.random() < 0.2:
        bomb = rng.choice(BOMBS)
        read(bomb if rng.random() < 0.5 else right().bytes[kind].decode() + "\n" + bomb)
    else:
        read(damaged(right().bytes[kind], rng).decode("utf-8", rng.choice(("replace", "surrogateescape"))))


def schema(rng: random.Random) -> None:
    """A damaged schema, as YAML or JSON, as text or file."""
    if rng.random() < 0.3:
        ht.Schema.load(right().wrong(damaged(right().bytes["schema"], rng), rng.choice((".yaml", ".json"))))
    elif rng.random() < 0.3:
        _yaml("schema json", ht.Schema.from_json, rng)
    else:
        _yaml("schema", ht.Schema.from_yaml, rng)


def scm(rng: random.Random) -> None:
    """A damaged causal model."""
    _yaml("scm", SCM.from_yaml, rng)


def codes(rng: random.Random) -> None:
    """A damaged table of codes."""
    content = rng.choice(BOMBS).encode() if rng.random() < 0.2 else damaged(right().bytes["codes"], rng)
    CodeTable.load(right().wrong(content, ".yaml"))


def _file(kind: str, read: Callable[[Path], Any]) -> Callable[[random.Random], None]:
    def case(rng: random.Random) -> None:
        read(right().wrong(damaged(right().bytes[kind], rng)))

    return case


def model(rng: random.Random) -> None:
    """A damaged model file."""
    ht.load(right().wrong(damaged(right().bytes["model"], rng), ".holdtrue"))


def record(rng: random.Random) -> None:
    """A damaged record; what can be read can be told."""
    read = Record.from_json(damaged(right().bytes["record"], rng))
    _tell(letters(replace(read, valid_until=None))[0])


def records(rng: random.Random) -> None:
    """A damaged file of records."""
    list(read_records(right().wrong(damaged(right().bytes["records"], rng), ".jsonl")))


def structure(rng: random.Random) -> None:
    """A record or level with parts of other types."""
    kind = rng.choice(("record", "level", "anchor"))
    said = json.loads(right().bytes[kind])
    odd = (None, True, 10**40, -1, 1e308, "", "x" * 30_000, [], {}, [[[[]]]], {"a": {"b": 1}}, hostile(rng))
    key = rng.choice(list(said))
    if isinstance(said[key], dict) and said[key] and rng.random() < 0.5:
        said[key][rng.choice(list(said[key]))] = rng.choice(odd)
    else:
        said[key] = rng.choice(odd)
    path = right().wrong(json.dumps(said).encode())
    {"record": Record.load, "level": ht.Level.load, "anchor": Anchor.load}[kind](path)


def evidence(rng: random.Random) -> None:
    """A damaged file of evidence; or one whose members were changed and whose digests were made to fit."""
    how = rng.randrange(4)
    if how < 2:
        content = damaged(right().bytes["evidence"], rng)
        path = right().wrong(content, ".zip")
        ht.verify_evidence(path)
        if content != right().bytes["evidence"]:
            raise Obeyed("a file of evidence that was changed was read")
        return
    members = dict(right().members)
    if how == 2:
        name = rng.choice(list(members))
        members[name] = damaged(members[name], rng)
    else:
        said = json.loads(members["evidence.json"])
        part = rng.choice(["given", "given", "figures", "limits"])
        where = said if rng.random() < 0.2 or not isinstance(said[part], dict) else said[part]
        key = rng.choice(list(where))
        if isinstance(where[key], dict) and where[key] and rng.random() < 0.7:
            where, key = where[key], rng.choice(list(where[key]))
        where[key] = rng.choice(
            (None, -1, 1e308, "", [], {}, [[1]], {"a": {"b": 1}}, hostile(rng), [hostile(rng)])
        )
        members["evidence.json"] = json.dumps(said).encode()
    path = right().wrong(packed(members).to_bytes(), ".zip")
    str(ht.verify_evidence(path))
    page = ht.Evidence.load(path).html()
    _hold(page.translate(UNSEEN), html=True)


# ---- texts that are told ----------------------------------------------------------------------------------


class Obeyed(Exception):
    """A text was more than a text."""


def _hold(text: str, **how: Any) -> None:
    wrong = obeyed(text, **how)
    if wrong:
        raise Obeyed(f"{wrong}: {text[:300]!r}")


def _tell(letter: Any) -> None:
    _hold(letter.text)
    _hold(letter.html, html=True)


def told(rng: random.Random) -> None:
    """Hostile texts of people in letters, commands and pages."""
    who, what = hostile(rng), hostile(rng)
    words = {0: hostile(rng), 1: hostile(rng)} if rng.random() < 0.3 else None
    made = promise_to(who, changes=what, valid_until=None, reason=hostile(rng) if rng.random() < 0.5 else None)
    _tell(letters(made, words=words)[0])
    for text in (who, what):
        _hold(visible(text))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_json(json.loads(made.to_json()))
    _hold(out.getvalue())
    page = Page(title=who, sections=[Section((what, who), [(who, what)])], alarms=[what], notes=[who])
    _hold(document(page).translate(UNSEEN), html=True)
    _hold(html(page).translate(UNSEEN), html=True)
    _hold(markdown(page).translate(UNSEEN), html=True)


UNSEEN = dict.fromkeys(
    [
        *range(9),
        *range(11, 32),
        *range(127, 160),
        *map(ord, "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
    ]
)
"""What steers a terminal does nothing on a page."""


def named(rng: random.Random) -> None:
    """Hostile labels, units and levels: in sentences, pages, and cells that a spreadsheet would work out."""
    label, unit = hostile(rng), hostile(rng)
    features = [dict(f) for f in COLUMNS]
    features[0] |= {"label": label, "unit": unit}
    features[2] |= {"levels": ["rent", hostile(rng), "other"]}
    made = ht.Schema.from_dict({"holdtrue_schema": 1, "features": features})
    made.digest()
    ht.Schema.from_yaml(made.to_yaml())
    _hold(visible(str(made)))


KINDS: dict[str, tuple[Callable[[random.Random], None], int]] = {
    "csv": (csv, 6),
    "parquet": (parquet, 5),
    "types": (types, 4),
    "schema": (schema, 4),
    "scm": (scm, 2),
    "codes": (codes, 2),
    "model": (model, 4),
    "record": (record, 4),
    "records": (records, 4),
    "level": (_file("level", ht.Level.load), 2),
    "anchor": (_file("anchor", Anchor.load), 2),
    "keys": (_file("keys", read_keys), 2),
    "certificate": (_file("certificate", ht.Certificate.load), 2),
    "structure": (structure, 3),
    "told": (told, 4),
    "named": (named, 2),
}
"""Kinds of cases, and how many blocks in a round each has."""
NOW_AND_THEN = {"wide": wide, "evidence": evidence, "json lines": lines}
"""Further kinds, each in some blocks."""
TURNS = [kind for kind, (_, n) in KINDS.items() for _ in range(n)]


def attack(block: int, kind: str, *, cases: int = CASES) -> list[Line]:
    """A block of cases of one kind."""
    counts: Counter[str] = Counter(cases=0, crashed=0, obeyed=0, slow=0)
    first: dict[str, str] = {}
    case = NOW_AND_THEN.get(kind) or KINDS[kind][0]
    right()  # made before any clock runs
    for i in range(3 if kind == "wide" else cases):
        counts["cases"] += 1
        began = time.process_time()
        try:
            case(random.Random(f"{block} {i} {kind}"))
            counts["fine"] += 1
        except HoldtrueError:
            counts["refused"] += 1
        except Obeyed as error:
            counts["obeyed"] += 1
            first.setdefault("error", f"case {i}: {error}")
        except Exception as error:  # whatever it is, it should have been of the package's own
            counts["crashed"] += 1
            first.setdefault("error", f"case {i}: {type(error).__name__}: {str(error)[:300]}")
        counts["slow"] += time.process_time() - began > SLOW
    return [{"method": kind, **counts, **first}]


def tasks(first: int, blocks: int) -> Iterator[list[Job]]:
    """Blocks one after another; files of evidence, JSON lines and a table of ten thousand columns now and then."""
    for block in range(first, first + blocks):
        now_and_then = [(block, "evidence")] * (block % 10 == 5) + [(block, "wide")] * (block % 100 == 99)
        now_and_then += [(block, "json lines")] * (block % 10 == 7)
        yield [(block, TURNS[block % len(TURNS)]), *now_and_then]


ATTACK = Attack("inputs", __doc__ or "", attack, WRONG, tasks, worlds=1000)

if __name__ == "__main__":
    ATTACK.main()
