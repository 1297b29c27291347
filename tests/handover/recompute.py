"""Every number of a piece of evidence from its tables, without holdtrue; prints what differs."""

import hashlib
import io
import json
import math
import sys
import zipfile

import numpy as np
import pandas as pd
from scipy import stats

AFTER = {"issue": "live", "supersede": "superseded", "fulfil": "fulfilled", "expire": "expired"}


def numbers(path):
    """The figures that the file states, and the same computed from its tables."""
    with zipfile.ZipFile(path) as archive:
        said = json.loads(archive.read("evidence.json"))
        tables = {
            name[7:-8]: pd.read_parquet(io.BytesIO(archive.read(name)))
            for name in archive.namelist()
            if name.startswith("tables/")
        }
    return said["figures"], figures(tables, said["given"])


def figures(tables, given):
    c = given["settings"]["confidence"]
    people = tables["people"]
    for name in ("found", "proved_none", "proved_cheapest", "holds"):
        people[name] = people[name].eq(True)
    accepts = None
    if "judges" in tables:
        accepts = tables["judges"].pivot(index="judge", columns="row", values="accepts")
    out = {"confidence": c, "everybody": measures(people, accepts, c), "groups": {}}
    for column in [name for name in people if name.startswith("group.")]:
        each = out["groups"][column[6:]] = {}
        for label, part in people.groupby(column):
            rest = people[people[column] != label]
            each[label] = {"measures": measures(part, accepts, c), "difference": apart(part, rest, accepts, c)}
    out["reasons"] = reasons(tables, c) if "reasons" in tables else None
    out["backtest"], past = None, tables.get("backtest")
    if past is not None:
        periods = {row.period: share(row.kept, row.people, c) for row in past.itertuples()}
        out["backtest"] = {"periods": periods, "all": share(past.kept.sum(), past.people.sum(), c)}
    out["certificate"] = (
        calibrated(tables["calibration"], given["certificate"]) if "calibration" in tables else None
    )
    out["ledger"] = ledger(tables, given["ledger"], c) if "ledger" in tables else None
    return out


def measures(people, accepts, c):
    asked = people[people.asked]
    found = asked[asked.found]
    unknown = asked[~asked.found & ~asked.proved_none]
    yes = answers(accepts, found)
    return {
        "people": len(people),
        "refused": share((~people.accepted).sum(), len(people), c),
        "performance": performance(people, c),
        "asked": len(asked),
        "found": share(len(found), len(asked), c),
        "proved_none": share(asked.proved_none.sum(), len(asked), c),
        "open": share(len(unknown), len(asked), c),
        "proved_cheapest": share(found.proved_cheapest.sum(), len(found), c),
        "statuses": asked.status.value_counts().to_dict(),
        "cost": spread(found.cost, c),
        "cheapest": spread(found.cheapest.dropna(), c),
        "changed": spread(found.changed, c),
        "survival": None if yes is None else interval(*crossed(yes, c)) | {"judges": len(accepts)},
        "holds": None if yes is None else share(found.holds.sum(), len(found), c),
    }


def answers(accepts, people):
    if accepts is None:
        return None
    return accepts[people["row"]].to_numpy(dtype=float) if len(people) else np.zeros((len(accepts), 0))


def performance(people, c):
    if people.label.isna().all():
        return None
    good, yes = people.label.astype(bool), people.accepted
    return {
        "accuracy": share((good == yes).sum(), len(people), c),
        "accepted_of_good": share((good & yes).sum(), good.sum(), c),
        "accepted_of_bad": share((~good & yes).sum(), (~good).sum(), c),
        "good_of_accepted": share((good & yes).sum(), yes.sum(), c),
        "auc": area(people.score[good].to_numpy(), people.score[~good].to_numpy(), c),
        "brier": mean((people.score - good.astype(float)) ** 2, c),
    }


def area(high, low, c):
    if not len(high) or not len(low):
        return interval(None, None, None)
    wins = (high[:, None] > low[None]) + 0.5 * (high[:, None] == low[None])
    value = wins.mean()
    if min(wins.shape) < 2:
        return interval(value, None, None)
    error = math.sqrt(wins.mean(axis=1).var(ddof=1) / len(high) + wins.mean(axis=0).var(ddof=1) / len(low))
    half = stats.norm.ppf((1 + c) / 2) * error
    return interval(value, max(value - half, 0), min(value + half, 1))


def apart(part, rest, accepts, c):
    asked, others = part[part.asked], rest[rest.asked]
    found, beside = asked[asked.found], others[others.found]
    out = {
        "refused": newcombe((~part.accepted).sum(), len(part), (~rest.accepted).sum(), len(rest), c),
        "found": newcombe(len(found), len(asked), len(beside), len(others), c),
        "cost": welch(found.cost, beside.cost, c),
        **dict.fromkeys(("accuracy", "holds", "survival")),
    }
    if not part.label.isna().all() or not rest.label.isna().all():
        right = [(one.label.astype(bool) == one.accepted).sum() for one in (part, rest)]
        out["accuracy"] = newcombe(right[0], len(part), right[1], len(rest), c)
    if accepts is not None:
        out["holds"] = newcombe(found.holds.sum(), len(found), beside.holds.sum(), len(beside), c)
        out["survival"] = survival_apart(answers(accepts, found), answers(accepts, beside), c)
    return out


def crossed(yes, c):
    """Models and people both drawn: the variance by a two-way table, then Korn and Graubard's interval."""
    m, n = yes.shape
    if n == 0:
        return None, 0.0, 1.0
    p, doubt = yes.mean(), (1 - c) / 2
    edge = doubt ** (1 / max(m, n))
    models, people = yes.mean(axis=1), yes.mean(axis=0)
    if min(m, n) > 1:
        residual = yes - models[:, None] - people[None] + p
        both = (residual**2).sum() / ((m - 1) * (n - 1)) / (m * n)
        a, b = models.var(ddof=1) / m, people.var(ddof=1) / n
        variance = max(a + b - both, a, b)
    if min(m, n) < 2 or p in (0, 1) or variance == 0:
        return p, edge if p == 1 else 0.0, 1 - edge if p == 0 else 1.0
    quantiles = [stats.t.ppf((1 + c) / 2, k - 1) for k in (m * n, min(m, n))]
    size = (quantiles[0] / quantiles[1]) ** 2 * min(p * (1 - p) / variance, m * n)
    lower = stats.beta.ppf(doubt, p * size, (1 - p) * size + 1)
    upper = stats.beta.ppf(1 - doubt, p * size + 1, (1 - p) * size)
    return p, min(lower, edge), max(upper, 1 - edge)


def survival_apart(yes, other, c):
    if not yes.shape[1] or not other.shape[1]:
        return interval(None, None, None)
    value, fewest = yes.mean() - other.mean(), min(len(yes), yes.shape[1], other.shape[1])
    if fewest < 2:
        return interval(value, None, None)
    parts = (yes.mean(axis=0), other.mean(axis=0), yes.mean(axis=1) - other.mean(axis=1))
    half = stats.t.ppf((1 + c) / 2, fewest - 1) * math.sqrt(sum(x.var(ddof=1) / len(x) for x in parts))
    return interval(value, max(value - half, -1), min(value + half, 1))


def share(k, n, c):
    k, n, doubt = int(k), int(n), (1 - c) / 2
    lower = stats.beta.ppf(doubt, k, n - k + 1) if k else 0.0
    upper = stats.beta.ppf(1 - doubt, k + 1, n - k) if k < n else 1.0
    return {"k": k, "n": n, "share": k / n if n else None, "lower": lower, "upper": upper}


def interval(value, lower, upper):
    return {"value": value, "lower": lower, "upper": upper}


def mean(x, c):
    x = np.asarray(x, float)
    if len(x) < 2:
        return interval(x.mean() if len(x) else None, None, None)
    half = stats.t.ppf((1 + c) / 2, len(x) - 1) * x.std(ddof=1) / math.sqrt(len(x))
    return interval(x.mean(), x.mean() - half, x.mean() + half)


def spread(x, c):
    ends = (None, None) if not len(x) else (np.quantile(x, 0.5), np.quantile(x, 0.9))
    return mean(x, c) | {"median": ends[0], "high": ends[1]}


def newcombe(k, n, j, m, c):
    if not n or not m:
        return interval(None, None, None)
    z, ends = stats.norm.ppf((1 + c) / 2), []
    for a, b in ((k, n), (j, m)):
        roots = np.roots([b + z * z, -(2 * a + z * z), a * a / b])  # Wilson's interval: roots of its equation
        ends.append(sorted(np.real(roots)))
    p, q = k / n, j / m
    lower = p - q - math.hypot(p - ends[0][0], ends[1][1] - q)
    return interval(p - q, lower, p - q + math.hypot(ends[0][1] - p, q - ends[1][0]))


def welch(x, y, c):
    if not len(x) or not len(y):
        return interval(None, None, None)
    value = x.mean() - y.mean()
    if min(len(x), len(y)) < 2 or x.var() + y.var() == 0:
        return interval(value, None, None)
    a, b = x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)  # Welch and Satterthwaite
    freedom = (a + b) ** 2 / (a**2 / (len(x) - 1) + b**2 / (len(y) - 1))
    half = stats.t.ppf((1 + c) / 2, freedom) * math.sqrt(a + b)
    return interval(value, value - half, value + half)


def reasons(tables, c):
    named, parts = tables["reasons"], tables["contributions"]
    totals = parts.groupby("row").contribution.sum()
    gaps = tables["gaps"].set_index("row").gap
    panel = tables.get("panel")
    known = named.in_recourse.dropna()
    named["stands"] = named.votes >= 0.8 * named.models - 1e-9
    out = {
        "people": len(totals),
        "largest_remainder": (totals - gaps).abs().max(),
        "stands_from": 0.8,
        "in_recourse": share(known.astype(bool).sum(), len(known), c) if len(known) else None,
        **dict.fromkeys(("agreement", "first_agreement")),
        "stands": None if panel is None else share(named.stands.sum(), len(named), c),
        "each": {}, "contributions": {},
    }  # fmt: skip
    for name, column in (("agreement", "overlap"), ("first_agreement", "first")) if panel is not None else ():
        models = panel.groupby("model")[column].mean()
        of = mean(models, c)
        out[name] = interval(of["value"], max(of["lower"], 0), min(of["upper"], 1)) | {"models": len(models)}
    for name, mine in named.groupby("reason"):
        stands = None if panel is None else share(mine.stands.sum(), len(mine), c)
        first = int((mine["rank"] == 1).sum())
        out["each"][name] = {"named": share(mine.row.nunique(), len(totals), c), "first": first, "stands": stands}
    for name, mine in parts.groupby("name"):
        out["contributions"][name] = {"mean": mean(mine.contribution, c), "protected": bool(mine.protected.any())}
    return out


def calibrated(table, certificate):
    n, failures = len(table), int((table.critical < certificate["threshold"]).sum())
    allowed = [k for k in range(n) if stats.binom.cdf(k, n, certificate["miscoverage"]) <= certificate["failure"]]
    upper = stats.beta.ppf(1 - certificate["failure"], failures + 1, n - failures) if failures < n else 1.0
    return {"n": n, "failures": failures, "allowed": max(allowed, default=None), "without_recourse_at_most": upper}


def ledger(tables, given, c):
    follows, previous = True, given["first"]  # what the first event's hash stands on
    where, issued, kept, gates = {}, {}, {}, {}
    for event in tables["ledger"].astype(object).where(lambda t: t.notna(), None).to_dict("records"):
        body = {name: event[name] for name in ("seq", "kind", "promise", "at", "public", "commitment", "token")}
        text = json.dumps(body | {"previous": previous}, sort_keys=True, separators=(",", ":"))
        previous, follows = event["hash"], follows and hashlib.sha256(text.encode()).hexdigest() == event["hash"]
        said, kind = json.loads(event["public"]), event["kind"]
        if kind == "forget":
            where |= dict.fromkeys(said["ended"], "forgotten")
        if kind in AFTER:
            where[event["promise"]] = AFTER[kind]
        if kind == "issue":
            issued[event["promise"]] = said
        if kind == "fulfil":
            kept[event["promise"]] = said["kept"]
        if kind == "gate":
            of = {name: said[name] for name in ("model", "at", "unreadable", "max_broken", "ok")}
            gates[str(event["seq"])] = of | {"broken": share(said["broken"], said["live"], c)}
    models = {said["model"]: {"promised": 0, "kept": 0, "broken": 0} for said in issued.values()}
    for promise, said in issued.items():
        models[said["model"]]["promised"] += 1
        if promise in kept:
            models[said["model"]]["kept" if kept[promise] else "broken"] += 1
    live = [p for p in issued if where[p] == "live" and (issued[p]["valid_until"] or "9") > given["at"]]
    gate = None
    if "broken" in tables:
        unread = int(tables["broken"].unreadable.sum())
        gate = {"broken": share(len(tables["broken"]), len(live), c), "not_readable": unread}
    return {
        "events": len(tables["ledger"]), "promised": len(issued), "by_model": models, "gates": gates, "gate": gate,
        "chain_follows": follows and previous == given["hash"],
        "states": pd.Series(where).value_counts().to_dict() if where else {},
        "fulfilled_and_kept": share(sum(kept.values()), len(kept), c),
    }  # fmt: skip


def differences(said, own, where=""):
    """Where two figures differ, the path to each; numbers by more than rounding."""
    if isinstance(said, dict) and isinstance(own, dict):
        if said.keys() != own.keys():
            yield f"{where}: {sorted(said.keys() ^ own.keys())}"
            return
        for name in said:
            yield from differences(said[name], own[name], f"{where}/{name}")
    elif isinstance(said, (int, float)) and not isinstance(said, bool) and own is not None:
        if not abs(said - own) <= 1e-9 + 1e-9 * abs(said):
            yield f"{where}: {said} and {own}"
    elif said != own:
        yield f"{where}: {said!r} and {own!r}"


if __name__ == "__main__":
    sys.exit("\n".join(differences(*numbers(sys.argv[1]))) or 0)
