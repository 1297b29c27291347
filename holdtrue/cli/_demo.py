"""`holdtrue demo`: everything once, on real loan applications."""

import time
from typing import TYPE_CHECKING

import click

from holdtrue._cache import use_cache
from holdtrue._types import JsonObject
from holdtrue.cli import _demo_kept
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, results
from holdtrue.cli._options import json_option, seed_option
from holdtrue.errors import DataError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from holdtrue.classifier import RecourseClassifier
    from holdtrue.datasets import Dataset
    from holdtrue.methods import RecourseFrame

SETTINGS: JsonObject = {}  # of the classifier: what it takes by itself
MODELS = 40  # retrainings to hold it against: a share to 2.5 points


@click.command("demo")
@click.option("--retrain", "n_models", type=click.IntRange(min=1), metavar="N",
              help="How many retrained models the recourse is held against.  "
              "[default: 40; with --serve 100]")  # fmt: skip
@click.option("--picture", metavar="FILE",
              help="Draw survival against cost, of the cheapest recourse and of one that holds; needs "
              "holdtrue[plots].")  # fmt: skip
@click.option("--serve", is_flag=True, help="Open a page on it instead, with promises to look at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="With --serve.")
@seed_option
@json_option
def command(n_models: int | None, picture: str | None, serve: bool, port: int, seed: int, as_json: bool) -> None:
    """Train on real loan applications, find recourse for everyone refused, and test whether it holds.

    The data are mortgage applications in Boston, 1990, and come with holdtrue. First the cheapest recourse, and
    what a retraining of the model does to it; then recourse that holds, and its price. Takes about half a
    minute, and a few seconds the second time: the models are kept beside compiled programs, unless
    HOLDTRUE_CACHE is off.

    With --serve the model is put behind the pages of a case officer and a validator on this machine, with a ledger
    of promises and models that were held against them. Prints the address and a key that is good for this run.
    Needs holdtrue[serve].
    """
    if serve:
        for option, given in (("--json", as_json), ("--picture", picture is not None)):
            if given:
                raise DataError(
                    f"{option}: there is nothing to show while pages are served; got --serve. Leave one out."
                )
        from holdtrue.cli._demo_serve import serve_demo

        serve_demo(100 if n_models is None else n_models, port, seed)
        return
    n_models = MODELS if n_models is None else n_models
    began = time.monotonic()
    if picture is not None:
        from holdtrue._optional import need
        from holdtrue.runs import check_place

        check_place(picture, "--picture")
        need("matplotlib", extra="plots", what="--picture:")
    use_cache()
    from holdtrue.cli._against_retrained import retrain_again

    bank, train, test = data(seed)
    place = _demo_kept.place((seed, n_models, SETTINGS))
    kept = _demo_kept.read(place)
    classifier = fitted(bank, train, seed) if kept is None else kept[0]
    accuracy = float((classifier.predict(test.X) == test.y).mean())
    refused = bank.X[classifier.predict(bank.X) != bank.favourable]
    with progress("recourse", 2 * len(refused), "people") as bar:
        try:
            cheapest, held = (
                interruptible(lambda hold=hold: classifier.recourse(refused, hold=hold, on_rows=bar.by))
                for hold in (None, classifier.hold)
            )
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. The demo writes no files.") from error
    # Unseen: neither guides nor judges are among them.
    if kept is None:
        against = retrain_again(classifier, train.X, train.y, n_models, seed, vary="anew")
        _demo_kept.write(place, classifier, against)
    else:
        against = kept[1]
    plans = {"cheapest": cheapest, "holds": held}
    survival = {name: against.accepts(plan.recourse, plan.target).mean(axis=0) for name, plan in plans.items()}
    both = cheapest.found & held.found
    chosen = choose(cheapest.cost, both)
    story: JsonObject = {
        "dataset": bank.name,
        "source": bank.source,
        "rows": len(bank),
        "trained_on": len(train),
        "accuracy_on_held_out_rows": accuracy,
        "refused": len(refused),
        "hold": classifier.hold,
        "guides": classifier.n_guides,
        "retrained_models": n_models,
        **{name: measured(plan, survival[name], chosen, refused.index) for name, plan in plans.items()},
        "price": float(held.cost[both].sum() / cheapest.cost[both].sum()) if both.any() else None,
    }
    if picture is not None:
        from holdtrue.reports import draw_hold

        points = [(plan.cost[both], survival[name][both]) for name, plan in plans.items()]
        draw_hold(*points, hold=story["hold"], n_models=n_models, path=picture)
    story["models_of_an_earlier_run"] = kept is not None
    story["seconds"] = round(time.monotonic() - began, 1)
    if as_json:
        print_json(story)
    else:
        _tell(story, picture)


def measured(plan: "RecourseFrame", survival: "np.ndarray", chosen: list[int], index: "pd.Index") -> JsonObject:
    """What retrained models do to a plan."""
    import numpy as np

    found = plan.found
    shares = survival[found]
    some = bool(found.any())
    bins = np.histogram(shares, bins=np.linspace(0, 1, 11))[0].tolist()
    return {
        "recourse": plan.counts(),
        "mean_cost": float(plan.cost[found].mean()) if some else None,
        "median_cost": float(np.median(plan.cost[found])) if some else None,
        "mean_survival": float(shares.mean()) if some else None,
        "worst_survival": float(shares.min()) if some else None,
        "stated_survival": float(plan.held.survival[found].mean()) if some and plan.held is not None else None,
        "people_by_tenth_of_survival": bins,
        "people": [_person(plan, survival, index, i) for i in chosen],
    }


def data(seed: int) -> "tuple[Dataset, Dataset, Dataset]":
    """The data, the rows to learn from, and those held out."""
    import holdtrue as ht

    bank = ht.datasets.load("loanapp")
    return bank, *bank.split(random_state=seed)


def fitted(bank: "Dataset", train: "Dataset", seed: int) -> "RecourseClassifier":
    """The classifier, with guides and judges."""
    import holdtrue as ht
    from holdtrue.cli._fit import fit_with_progress

    classifier = ht.RecourseClassifier(schema=bank.schema, random_state=seed, **SETTINGS)
    fit_with_progress(classifier, train.X, train.y)
    return classifier


def choose(cost: "np.ndarray", found: "np.ndarray") -> list[int]:
    """Three people: an easy, a typical and a hard case (a tenth, half and nine tenths of the way up in cost)."""
    import numpy as np

    rows = np.flatnonzero(found)
    if not len(rows):
        return []
    ordered = rows[np.argsort(cost[rows], kind="stable")]
    places = [round(share * (len(ordered) - 1)) for share in (0.1, 0.5, 0.9)]
    return [int(ordered[place]) for place in dict.fromkeys(places)]


def _person(plan: "RecourseFrame", survival: "np.ndarray", index: "pd.Index", i: int) -> JsonObject:
    return {
        "row": int(index[i]),
        "changes": plan.changes()[i],
        "cost": float(plan.cost[i]),
        "probability_before": float(plan.before[i]),
        "probability_after": float(plan.after[i]),
        "accepted_by_retrained_models": float(survival[i]),
    }


BARS = " ▁▂▃▄▅▆▇█"


def times(price: float) -> str:
    """How many times, as people say it."""
    return f"{price:.0f} times" if price >= 10 else f"{price:.1f} times"


def _tell(story: JsonObject, picture: str | None) -> None:
    from rich.padding import Padding
    from rich.table import Table

    console = results()
    n, cheap, held = story["retrained_models"], story["cheapest"], story["holds"]

    def heading(text: str) -> None:
        console.print(f"\n[bold]{text}[/bold]")

    def people(part: JsonObject) -> None:
        for person in part["people"]:
            said = (
                f"chance of a yes {person['probability_before']:.0%} → {person['probability_after']:.0%}; cost "
                f"{person['cost']:.2f}; of {n} retrained models, "
                f"{person['accepted_by_retrained_models']:.0%} say yes"
            )
            text = f"[bold]Applicant {person['row']}[/bold]  {person['changes']}\n[dim]{said}[/dim]"
            console.print()
            console.print(Padding(text, (0, 0, 0, 2), expand=False))

    heading("The data")
    console.print(
        f"{story['rows']:,} mortgage applications in Boston, 1990: income, debts, credit history, and the "
        "bank's answer."
    )
    heading("The model")
    console.print(
        f"One curve per column, added up, fitted to {story['trained_on']:,} of them. It is right about "
        f"{story['accuracy_on_held_out_rows']:.1%} of the others, and says no to {story['refused']} people in all."
    )
    heading("The cheapest advice")
    console.print(
        f"For {cheap['recourse'].get('FOUND', 0)} of these {story['refused']} a change was found that turns the "
        "no into a yes. Sex, race, family and past bankruptcies stay as they are. Three of them, an easy, a "
        "typical and a hard case:"
    )
    people(cheap)
    if not cheap["people"] or story["price"] is None:
        return
    heading(f"What a retraining does to it: the same model, trained {n} times again")
    console.print(
        f"On average {cheap['mean_survival']:.0%} of the retrained models say yes to a person who did as they "
        "were told. The cheapest way to a yes ends close to the model's boundary, and every training draws it a "
        "little elsewhere."
    )
    heading("Advice that holds")
    console.print(
        f"{story['guides']} further trainings, the guides, decide together with the model: the search goes on "
        f"until all of them say yes, by a margin that was measured so that {story['hold']:.0%} of retrainings "
        "accept. The same three people:"
    )
    people(held)
    heading("And its price")
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("", "found", "mean cost", "median", "accepted by", "least", "people, from 0 to 100%"):
        table.add_column(name, justify="left" if not name or "people" in name else "right")
    most = max(*cheap["people_by_tenth_of_survival"], *held["people_by_tenth_of_survival"], 1)
    for name, part in (("cheapest", cheap), ("holds", held)):
        bins = part["people_by_tenth_of_survival"]
        bars = "".join(BARS[min(-(-8 * count // most), 8)] * 2 for count in bins)
        found = f"{sum(part['recourse'].get(status, 0) for status in ('FOUND', 'OPTIMAL')):,}"
        costs = (f"{part['mean_cost']:.2f}", f"{part['median_cost']:.2f}")
        numbers = (*costs, f"{part['mean_survival']:.1%}", f"{part['worst_survival']:.0%}")
        table.add_row(name, found, *numbers, bars)
    console.print(table)
    console.print(
        f"\nFor {times(story['price'])} the cost in the mean, {held['mean_survival']:.0%} instead of "
        f"{cheap['mean_survival']:.0%} of {n} models that took no part in the search accept. Others, the judges, "
        f"had said {held['stated_survival']:.0%}."
    )
    if picture is not None:
        console.print(f"Everyone's way from one to the other is drawn in {picture}.")
    heading("What to try next")
    for line, why in NEXT:
        console.print(f"  {line}", markup=False, soft_wrap=True)
        console.print(f"      [dim]{why}[/dim]")
    kept = " The models are those of an earlier run; HOLDTRUE_CACHE=off trains them again."
    console.print(f"\n[dim]{story['seconds']:.0f} s.{kept if story['models_of_an_earlier_run'] else ''}[/dim]")


NEXT = (
    (
        "holdtrue datasets export loanapp --out loans.csv --schema loans.yaml",
        "The table, with its schema to edit.",
    ),
    ("holdtrue fit loans.csv --target approve --schema loans.yaml --out loans.holdtrue", "A model of your own."),
    ("holdtrue recourse loans.holdtrue loans.csv --only-refused --out recourse.csv", "Recourse for all refused."),
    ("holdtrue methods", "Other ways to find recourse."),
    ("holdtrue demo --serve", "The same as pages: a case officer's desk, and promises held against new models."),
)
