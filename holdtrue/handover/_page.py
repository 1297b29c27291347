"""The page of a piece of evidence: self-contained HTML, made from its figures and from what was given."""

import html
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from holdtrue._types import Json, JsonObject
from holdtrue.handover._marks import Mark, intervals

STYLE = Path(__file__).with_name("page.css")
DASH = "-"
ALL = "everybody"
SHORT = 5  # rows of a table that is not torn apart between two sheets; longer ones leave half a sheet empty
PERSONAL = (
    "The tables of this file have a row for every person: their place in the table that was handed in, the "
    "model's score and decision, what the search found, and the groups that are reported on. Nobody's name, "
    "key or other columns are in it. Contributions to reasons are there for those whose reasons were looked "
    "at. Of the ledger it has the chain's public part, which says nothing of a person but a commitment. Who "
    "has the table as well can put the two together, so treat the file as personal data. The rows are needed: "
    "every figure is computed from them, and can be by you."
)
PROVED = (
    "Proved, none: the person may change nothing, or it is proved that nothing they may change is enough. "
    "Open: nothing was found, and it is not proved that there is none."
)
STATES = {
    "live": "still bind, or have run out unmarked", "superseded": "replaced by another", "fulfilled": "came back",
    "expired": "ran out", "forgotten": "person was erased",
}  # fmt: skip


def page(given: JsonObject, figures: JsonObject, limits: Sequence[str]) -> str:
    """The whole page."""
    title = f"Evidence on a model: {given['model']['kind']} {_short(given['model']['sha256'])}"
    parts = [
        *_head(given, figures, title), *_limits(limits), *_performance(figures), *_recourse(figures),
        *_survival(given, figures), *_differences(figures), *_level(given, figures), *_certificate(given, figures),
        *_ledger(given, figures), *_reasons(given, figures), *_rests(given),
    ]  # fmt: skip
    style = STYLE.read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


# ---- sections ---------------------------------------------------------------------------------------


def _head(given: JsonObject, figures: JsonObject, title: str) -> Iterator[str]:
    of = figures["everybody"]
    yield f"<h1>{html.escape(title)}</h1>"
    level = "" if given["model"]["threshold"] is None else f" Its threshold is {given['model']['threshold']:.6g}."
    yield _p(
        f"Made on {given['made']} from {of['people']:,} people. The favourable class is "
        f"{given['model']['favourable']}.{level} Intervals are at {figures['confidence']:.0%} confidence."
    )
    tiles = [("refused", _percent(of["refused"]["share"]), _range(of["refused"], _percent))]
    if of["performance"] is not None:
        tiles.append(("area under the ROC curve", _three(of["performance"]["auc"]["value"]),
                      _range(of["performance"]["auc"], _three)))  # fmt: skip
    tiles.append(("of the refused, with recourse", _percent(of["found"]["share"]), _range(of["found"], _percent)))
    if of["survival"] is not None:
        tiles.append(("of judges accept it", _percent(of["survival"]["value"]), _range(of["survival"], _percent)))
    cells = [f'<div class="tile"><b>{value}</b>{html.escape(name)} <span class="key">{ends}</span></div>'
             for name, value, ends in tiles]  # fmt: skip
    yield f'<div class="tiles">{"".join(cells)}</div>'


def _limits(limits: Sequence[str]) -> Iterator[str]:
    yield "<h2>Limits and known weaknesses</h2>"
    yield "<ul>" + "".join(f"<li>{html.escape(text)}</li>" for text in limits) + "</ul>"


def _performance(figures: JsonObject) -> Iterator[str]:
    yield "<h2>How well the model decides</h2>"
    if figures["everybody"]["performance"] is None:
        yield _p("Not measured: no labels were given.")
        return
    heads = (
        "people",
        "accuracy",
        "accepted, of the good",
        "accepted, of the bad",
        "good, of the accepted",
        "AUC",
        "Brier",
    )
    rows = []
    for name, one in _subsets(figures):
        of = one["performance"]
        shares = ("accuracy", "accepted_of_good", "accepted_of_bad", "good_of_accepted")
        cells = [f"{one['people']:,}", *(_share(of[key]) for key in shares)]
        rows.append((name, [*cells, _value(of["auc"], _three), _value(of["brier"], _three)]))
    yield _table("", heads, rows, "Good are those whose label is the favourable class.")


def _recourse(figures: JsonObject) -> Iterator[str]:
    yield "<h2>Who is refused, and who has recourse</h2>"
    heads = ("refused", "asked", "recourse found", "proved: none", "open", "proved cheapest")
    rows = [
        (name, [_share(one["refused"]), f"{one['asked']:,}",
                *(_share(one[key]) for key in ("found", "proved_none", "open", "proved_cheapest"))])
        for name, one in _subsets(figures)
    ]  # fmt: skip
    yield _table("", heads, rows, PROVED)
    for title, key in (("Refused", "refused"), ("Recourse found, of the refused who were asked about", "found")):
        marks = [_mark(name, one[key], "share") for name, one in _subsets(figures)]
        yield intervals(title, marks, percent=True)
    statuses = figures["everybody"]["statuses"]
    if statuses:
        told = ", ".join(f"{name} {count:,}" for name, count in statuses.items())
        yield _p(f"Searches ended: {html.escape(told)}.", raw=True)


def _survival(given: JsonObject, figures: JsonObject) -> Iterator[str]:
    yield "<h2>What recourse costs, and whether it holds</h2>"
    heads = (
        "cost, mean",
        "median",
        "90% below",
        "cheapest, mean",
        "columns changed",
        "judges that accept",
        "holds",
    )
    rows = []
    for name, one in _subsets(figures):
        cells = [_value(one["cost"], _two), _two(one["cost"]["median"]), _two(one["cost"]["high"])]
        cells += [_value(one["cheapest"], _two), _value(one["changed"], _two)]
        cells += [DASH if one["survival"] is None else _value(one["survival"], _percent)]
        rows.append((name, [*cells, DASH if one["holds"] is None else _share(one["holds"])]))
    norm = html.escape(str(given["method"]["norm"]))
    note = f"Costs are {norm} in scaled units. Cheapest: of recourse for the model alone, whether it holds or not."
    yield _table("", heads, rows, note)
    marks = [_mark(name, one["cost"], "value") for name, one in _subsets(figures)]
    yield intervals("Mean cost", marks)
    if figures["everybody"]["survival"] is not None:
        marks = [_mark(name, one["survival"], "value") for name, one in _subsets(figures)]
        yield intervals("Share of judges that accept", marks, percent=True)


def _differences(figures: JsonObject) -> Iterator[str]:
    if not figures["groups"]:
        return
    yield "<h2>Differences between groups</h2>"
    yield _p("Each group less all others. An interval that does not contain 0 is in bold.")
    heads = ("refused", "accuracy", "recourse found", "cost", "judges that accept", "holds")
    forms = (_points, _points, _points, _two, _points, _points)
    keys = ("refused", "accuracy", "found", "cost", "survival", "holds")
    rows = []
    for name, labels in figures["groups"].items():
        for label, one in sorted(labels.items(), key=_place):
            cells = []
            for key, form in zip(keys, forms, strict=True):
                of = one["difference"][key]
                text = DASH if of is None else _value(of, form)
                apart = of is not None and of["lower"] is not None and (of["lower"] > 0 or of["upper"] < 0)
                cells.append(f"<b>{text}</b>" if apart else text)
            rows.append((f"{name}: {label}", cells))
    yield _table("", heads, rows, "Shares in percentage points, costs in scaled units.")


def _level(given: JsonObject, figures: JsonObject) -> Iterator[str]:
    level = given["level"]
    if level is None:
        return
    yield "<h2>The level of holding, and the past</h2>"
    reached = "reached" if level["reached"] else '<span class="bad">not known to be reached</span>'
    kept = "" if level["kept"] is None else f" Measured when it was fitted: {_percent(level['kept'])} kept"
    bound = "" if level["lower"] is None or not kept else f", at least {_percent(level['lower'])}"
    panel = "".join(f", {level[who]:d} {who}" for who in ("guides", "judges") if level[who])
    yield _p(
        f"Wanted: {_percent(level['hold'])} of retrainings accept ({html.escape(level['vary'] or 'not said')}), "
        f"{reached}. Margin {level['slack']:.4g} in log-odds{panel}.{kept}{bound}{'.' if kept else ''} "
        f"{html.escape(level['note'])}",
        raw=True,
    )
    past = figures["backtest"]
    if past is None:
        yield _p("Past periods were not replayed for this level.")
        return
    rows = [(ALL if name is None else name, [f"{of['n']:,}", _share(of)])
            for name, of in [*past["periods"].items(), (None, past["all"])]]  # fmt: skip
    term = ""
    if level["term"] is not None:
        term = ", one period later" if level["term"] == 1 else f", {level['term']:d} periods later"
    yield _table(f"Kept in past periods{term}", ("people", "kept"), rows)


def _certificate(given: JsonObject, figures: JsonObject) -> Iterator[str]:
    certificate, check = given["certificate"], given["certificate_check"]
    if certificate is None:
        return
    yield "<h2>Certificate of recourse</h2>"
    yield _p(
        f"At threshold {certificate['threshold']:g} at most {certificate['miscoverage']:g} of people like the "
        f"calibration set are without recourse; the procedure errs in at most {certificate['failure']:g} of "
        "draws. "
        f"{certificate['failures']:,} of {certificate['n']:,} calibration people are without, "
        f"{certificate['k']:,} may be. Made {certificate['date']} by {certificate['software']}."
    )
    own = figures["certificate"]
    if own is not None:
        yield _p(
            f"Counted again: {own['failures']:,} of {own['n']:,} are without, {own['allowed']} may be; at most "
            f"{_percent(own['without_recourse_at_most'])} of such people are, by the exact bound."
        )
    items = [
        f"<li>{'in order' if f['ok'] else '<span class=bad>does not hold</span>'}: {html.escape(f['what'])} "
        f'<span class="key">({html.escape(f["said"])})</span></li>'
        for f in check["findings"]
    ]
    items += [f"<li>not checked: {html.escape(what)}</li>" for what in check["unchecked"]]
    yield f"<ul>{''.join(items)}</ul>"


def _ledger(given: JsonObject, figures: JsonObject) -> Iterator[str]:
    of = figures["ledger"]
    if of is None:
        return
    yield "<h2>Promises: made, kept, broken</h2>"
    chain = (
        "follow on one another" if of["chain_follows"] else '<span class="bad">do not follow on one another</span>'
    )
    yield _p(
        f"{of['promised']:,} promises in {of['events']:,} events, whose hashes {chain}; the last is "
        f"<code>{html.escape(given['ledger']['hash'])}</code>.",
        raw=True,
    )
    rows = [(f"{name} ({STATES[name]})", [f"{count:,}"]) for name, count in of["states"].items()]
    kept = of["fulfilled_and_kept"]
    rows.append(("of those who came back, the promise was kept", [_share(kept)]))
    if of["gate"] is not None:
        when = _minute(given["ledger"]["at"])
        rows.append((f"live at {when}: this model would break", [_share(of["gate"]["broken"])]))
        rows.append(("  of these, it cannot read", [f"{of['gate']['not_readable']:,}"]))
    yield _table("", ("promises",), rows)
    rows = [(_short(model), [f"{one[k]:,}" for k in ("promised", "kept", "broken")])
            for model, one in of["by_model"].items()]  # fmt: skip
    yield _table("By the model that promised", ("promised", "kept", "broken"), rows)
    if of["gates"]:
        rows = []
        for one in of["gates"].values():
            cells = [_share(one["broken"]), f"{one['unreadable']:,}", _percent(one["max_broken"])]
            rows.append((f"{_minute(one['at'])}, {_short(one['model'])}", [*cells, "yes" if one["ok"] else "no"]))
        columns = ("live promises it would break", "cannot be read", "may break", "passed")
        yield _table("Gates that were written down: when, and which model was asked", columns, rows)


def _reasons(given: JsonObject, figures: JsonObject) -> Iterator[str]:
    of = figures["reasons"]
    if of is None:
        return
    yield "<h2>Reasons, and whether they would be given again</h2>"
    how = given["reasons"]["how"]
    yield _p(
        f"Contributions to the gap between {of['people']:,} people's scores and the cut-off, {how}; they add up "
        f"to the gap to {of['largest_remainder']:.1e}."
    )
    if of["agreement"] is not None:
        yield _p(
            f"A retrained model gives {_percent(of['agreement']['value'])} of a person's reasons, too "
            f"({_range(of['agreement'], _percent)}), and the same first one to "
            f"{_percent(of['first_agreement']['value'])} of people "
            f"({_range(of['first_agreement'], _percent)}; {of['agreement']['models']} models). "
            f"{_percent(of['stands']['share'])} of all reasons given are given by at least "
            f"{_percent(of['stands_from'])} of the models."
        )
    if of["in_recourse"] is not None:
        yield _p(f"The offered recourse changes {_percent(of['in_recourse']['share'])} of the reasons given.")
    ranked = sorted(of["each"].items(), key=lambda pair: (-pair[1]["named"]["k"], pair[0]))
    rows = []
    for name, one in ranked:
        stands = DASH if one["stands"] is None else _brief(one["stands"])
        rows.append((name, [_brief(one["named"]), f"{one['first']:,}", stands]))
    yield _table("What is named", ("people", "as the first", "stands"), rows)
    parts = sorted(of["contributions"].items(), key=lambda pair: (-(pair[1]["mean"]["value"] or 0), pair[0]))
    titles = {f["name"]: f.get("title", f["name"]) for f in given["schema"]["features"]}
    hidden = any(one["protected"] for _, one in parts)
    rows = []
    for name, one in parts:
        marked = ["protected, never named" if one["protected"] else ""] if hidden else []
        rows.append((titles.get(name, name), [_value(one["mean"], _three), *marked]))
    unit = html.escape(str(given["reasons"]["unit"]))
    yield _table(
        "Mean contribution to the gap",
        ("contribution", *[""][:hidden]),
        rows,
        f"In {unit}; above 0 it widens the gap.",
    )


def _rests(given: JsonObject) -> Iterator[str]:
    yield "<h2>What is in this file about people</h2>"
    yield _p(PERSONAL)
    yield "<h2>What this rests on</h2>"
    rows = [("model, with its threshold", given["model"]["sha256"]), ("schema", given["schema"]["sha256"])]
    rows += [("rows, in any order", given["data"]["sha256"]), ("labels", given["data"]["labels_sha256"])]
    rows += [(f"file: {what}, {one['name']}", one["sha256"]) for what, one in given["files"].items()]
    yield _table(
        "SHA-256", ("",), [(what, [f"<code>{html.escape(str(digest or DASH))}</code>"]) for what, digest in rows]
    )
    method = given["method"]
    yield _p(f"Search: {method['name']}, seed {method['seed']}. Settings of this evidence:")
    told = [f"{name}: {json.dumps(value)}" for name, value in given["settings"].items()]
    yield f"<pre>{html.escape(chr(10).join(told))}</pre>"
    if given["command"] is not None:
        yield _p("Made by:")
        yield f"<pre>{html.escape(given['command'])}</pre>"
    told = [f"{name} {value}" for name, value in given["software"].items()]
    yield _p(f"Software: {', '.join(told)}.")
    yield _p(
        "To check it: holdtrue evidence --verify evidence.zip computes every figure from the tables; with MODEL "
        "and TABLE the tables are made again too. evidence.json has the same figures, tables/ what they are "
        "computed from."
    )


# ---- cells ------------------------------------------------------------------------------------------


def _subsets(figures: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    yield ALL, figures["everybody"]
    for name, labels in figures["groups"].items():
        for label, one in sorted(labels.items(), key=_place):
            yield f"{name}: {label}", one["measures"]


def _place(group: tuple[str, JsonObject]) -> tuple[int, float, str]:
    """Where a reader looks for a group: numbers and what is cut from them by size, names by the alphabet."""
    first, _, rest = group[0].partition(" ")
    try:
        return (0, float(rest), "") if first == "below" else (1, float(first), group[0])
    except ValueError:
        return 2, 0.0, group[0]


def _table(title: str, heads: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], note: str = "") -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *heads))
    body = []
    for name, cells in rows:
        kind = ' class="all"' if name == ALL else ""
        texts = "".join(f"<td>{cell}</td>" for cell in cells)
        body.append(f"<tr{kind}><td>{html.escape(name)}</td>{texts}</tr>")
    caption = ". ".join(part for part in (title, note) if part)
    above = f"<caption>{caption}</caption>" if caption else ""
    inside = f"{above}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody>"
    kind = "wide short" if len(rows) <= SHORT else "wide"
    kind += " slim" if sum(map(bool, heads)) <= 1 else ""  # there is room for an interval beside its value
    return f'<div class="{kind}"><table>{inside}</table></div>'


def _p(text: str, *, raw: bool = False) -> str:
    return f"<p>{text if raw else html.escape(text)}</p>"


def _mark(name: str, of: JsonObject, key: str) -> Mark:
    return Mark(name, of[key], of["lower"], of["upper"])


def _share(of: JsonObject) -> str:
    return f"{_percent(of['share'])}<i>{_range(of, _percent)}</i><i>{of['k']:,} of {of['n']:,}</i>"


def _brief(of: JsonObject) -> str:
    return f"{of['k']:,} of {of['n']:,} ({_percent(of['share'])})"


def _value(of: JsonObject, form: Callable[[Json], str]) -> str:
    ends = "" if of["lower"] is None else f"<i>{_range(of, form)}</i>"
    return f"{form(of['value'])}{ends}"


def _range(of: JsonObject, form: Callable[[Json], str]) -> str:
    if of["lower"] is None or of["upper"] is None:
        return "no interval"
    return f"{form(of['lower'])} to {form(of['upper'])}"


def _percent(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:.1f}%"


def _points(value: float | None) -> str:
    return DASH if value is None else f"{100 * value:+.1f}"


def _two(value: float | None) -> str:
    return DASH if value is None else f"{value:.2f}"


def _three(value: float | None) -> str:
    return DASH if value is None else f"{round(value, 3) + 0.0:.3f}"  # and no -0


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _short(digest: str | None) -> str:
    return "without a digest" if digest is None else digest[:12]
