"""`holdtrue demo`: everything once, on real loan applications."""

import time
from typing import Any

import click

from holdtrue._cache import use_cache
from holdtrue._types import JsonObject
from holdtrue.cli._console import Interrupted, interruptible, print_json, progress, results
from holdtrue.cli._options import json_option, seed_option
from holdtrue.errors import DataError

EPOCHS = 40  # after some 40 the network begins to learn the training rows by heart


@click.command("demo")
@click.option("--retrain", "n_models", type=click.IntRange(min=1), default=100, show_default=True, metavar="N",
              help="How many retrained models the recourse is held against.")  # fmt: skip
@click.option("--serve", is_flag=True, help="Open a page on it instead, with promises to look at.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="With --serve.")
@seed_option
@json_option
def command(n_models: int, serve: bool, port: int, seed: int, as_json: bool) -> None:
    """Train on real loan applications, find recourse for everyone refused, and test whether it holds.

    The data are mortgage applications in Boston, 1990, and come with holdtrue. Takes about half a minute.

    With --serve the model is put behind the pages of a case officer and a validator on this machine, with a ledger
    of promises and models that were held against them. Prints the address and a key that is good for this run.
    Needs holdtrue[serve].
    """
    if serve:
        if as_json:
            raise DataError(
                "--json: there is nothing to print while pages are served; got --serve. Leave one out."
            )
        from holdtrue.cli._demo_serve import serve_demo

        serve_demo(n_models, port, seed)
        return
    began = time.monotonic()
    use_cache()
    import holdtrue as ht
    from holdtrue.cli._against_retrained import retrain_again

    bank, train, test, classifier = trained(seed)
    accuracy = float((classifier.predict(test.X) == test.y).mean())
    refused = bank.X[classifier.predict(bank.X) != bank.favourable]
    with progress("recourse", len(refused), "people") as bar:
        try:
            plan = interruptible(lambda: classifier.recourse(refused, on_rows=bar.by))
        except KeyboardInterrupt as error:
            raise Interrupted("Interrupted. The demo writes no files.") from error
    against = retrain_again(classifier, train.X, train.y, n_models, seed)
    report = ht.audit(plan, against=against)
    survival = against.accepts(plan.recourse, plan.target).mean(axis=0)
    story = {
        "dataset": bank.name,
        "source": bank.source,
        "rows": len(bank),
        "trained_on": len(train),
        "accuracy_on_held_out_rows": accuracy,
        "refused": len(refused),
        "recourse": plan.counts(),
        "mean_survival": float(survival[plan.found].mean()) if plan.found.any() else None,
        "people": [_person(plan, survival, refused.index, i) for i in choose(plan.cost, plan.found)],
        "audit": report.to_dict(),
        "seconds": round(time.monotonic() - began, 1),
    }
    if as_json:
        print_json(story)
    else:
        _tell(story, report, n_models)


def trained(seed: int) -> Any:
    """The data, the rows to learn from, those held out, and the classifier."""
    import holdtrue as ht
    from holdtrue.cli._fit import fit_with_progress

    bank = ht.datasets.load("loanapp")
    train, test = bank.split(random_state=seed)
    regime = ht.StandardTraining(n_epochs=EPOCHS)
    classifier = ht.RecourseClassifier(schema=bank.schema, regime=regime, random_state=seed)
    fit_with_progress(classifier, train.X, train.y)
    return bank, train, test, classifier


def choose(cost: Any, found: Any) -> list[int]:
    """Three people: an easy, a typical and a hard case (a tenth, half and nine tenths of the way up in cost)."""
    import numpy as np

    rows = np.flatnonzero(found)
    if not len(rows):
        return []
    ordered = rows[np.argsort(cost[rows], kind="stable")]
    places = [round(share * (len(ordered) - 1)) for share in (0.1, 0.5, 0.9)]
    return [int(ordered[place]) for place in dict.fromkeys(places)]


def _person(plan: Any, survival: Any, index: Any, i: int) -> JsonObject:
    return {
        "row": int(index[i]),
        "changes": plan.changes()[i],
        "cost": float(plan.cost[i]),
        "probability_before": float(plan.before[i]),
        "probability_after": float(plan.after[i]),
        "accepted_by_retrained_models": float(survival[i]),
    }


def _tell(story: JsonObject, report: Any, n_models: int) -> None:
    from rich.padding import Padding

    console = results()

    def heading(text: str) -> None:
        console.print(f"\n[bold]{text}[/bold]")

    found = story["recourse"].get("FOUND", 0)
    heading("The data")
    console.print(
        f"{story['rows']:,} mortgage applications in Boston, 1990: income, debts, credit history, and the "
        "bank's answer."
    )
    heading("The model")
    console.print(
        f"A neural network trained on {story['trained_on']:,} of them. It is right about "
        f"{story['accuracy_on_held_out_rows']:.1%} of the others, and says no to {story['refused']} people in all."
    )
    heading("The recourse")
    console.print(
        f"For {found} of these {story['refused']} a change was found that turns the no into a yes. Sex, race, "
        "family and past bankruptcies stay as they are. Three of them, an easy, a typical and a hard case:"
    )
    for person in story["people"]:
        console.print()
        console.print(
            Padding(f"[bold]Applicant {person['row']}[/bold]  {person['changes']}", (0, 0, 0, 2), expand=False)
        )
        console.print(
            Padding(
                f"[dim]chance of a yes {person['probability_before']:.0%} → {person['probability_after']:.0%}; of "
                f"{n_models} retrained models, {person['accepted_by_retrained_models']:.0%} say yes[/dim]",
                (0, 0, 0, 2),
                expand=False,
            )
        )
    heading(f"Does it hold? The same model, trained {n_models} times again")
    kept = story["mean_survival"]
    if kept is not None:
        console.print(
            f"A person's recourse is accepted by {kept:.0%} of the retrained models on average. The cheapest "
            "way to a yes ends close to the model's boundary, and every training draws it a little elsewhere.\n"
        )
    console.print(report)
    heading("What to try next")
    for line, why in NEXT:
        console.print(f"  {line}", markup=False, soft_wrap=True)
        console.print(f"      [dim]{why}[/dim]")
    console.print(f"\n[dim]{story['seconds']:.0f} s[/dim]")


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
