"""Limits and known weaknesses, in sentences: what a reader must know before quoting a figure."""

from holdtrue._types import JsonObject
from holdtrue.encoding import join

SMALL = 30  # people in a group, below which nothing is said by its figures
FEW_JUDGES = 20

ALWAYS = (
    "Figures speak of the people in the table and of people drawn like them, not of everybody to come.",
    "An interval covers the chance of the draw. It does not cover a table that is wrong or was chosen.",
    "Groups are told apart by one column at a time. A difference is described, not explained, and no difference "
    "between columns taken together is looked for.",
    "Many intervals are told, each at the stated confidence: some of them miss what they speak of by chance.",
    "A cost is in the schema's scaled units. What a change costs a person is not known to a table.",
)


def limits(given: JsonObject, figures: JsonObject) -> list[str]:
    """Sentences about this piece of evidence, then those that hold for every one."""
    out = [*_people(given, figures), *_recourse(given, figures), *_reasons(given, figures), *_rest(given, figures)]
    return [*out, *ALWAYS]


def _people(given: JsonObject, figures: JsonObject) -> list[str]:
    out = []
    if figures["everybody"]["performance"] is None:
        out.append("No labels were given, so that how well the model decides was not measured.")
    elif given["data"]["seen_in_training"] is None:
        out.append(
            "Whether the model learned from these people is not known here; where it did, its performance is "
            "overstated."
        )
    elif given["data"]["seen_in_training"]:
        share = given["data"]["seen_in_training"] / given["data"]["rows"]
        out.append(
            f"{share:.0%} of the rows equal one that the model learned from: its performance is overstated."
        )
    if not figures["groups"]:
        out.append("No groups were given and the schema protects no column, so that no group was looked at.")
    for name, labels in figures["groups"].items():
        small = [label for label, one in labels.items() if one["measures"]["people"] < SMALL]
        if small:
            out.append(f"Groups of {name} with fewer than {SMALL} people say little: {', '.join(small)}.")
    hidden = given["data"]["protected_without_groups"]
    if hidden:
        are = "is protected and is" if len(hidden) == 1 else "are protected and are"
        out.append(f"{join(hidden)} {are} not reported by group; a number needs edges.")
    return out


def _recourse(given: JsonObject, figures: JsonObject) -> list[str]:
    out, of = [], figures["everybody"]
    if of["asked"] < of["refused"]["k"]:
        out.append(
            f"Recourse was searched for {of['asked']:,} of {of['refused']['k']:,} refused people, drawn by "
            "the seed."
        )
    if of["open"]["k"]:
        out.append(
            f"For {of['open']['k']:,} people nothing was found and nothing is proved: a way may exist that the "
            f"search ({given['method']['name']}) does not see."
        )
    if of["found"]["k"] and not of["proved_cheapest"]["k"]:
        out.append(
            "No recourse is proved to be the cheapest: costs are those of what was found, not of the cheapest "
            "there is."
        )
    if of["survival"] is None:
        out.append("The model carries no judges, so that how long recourse holds was not measured.")
    else:
        kind = given["method"]["vary"]
        out.append(
            f"Survival is under models trained again ({kind}) with the recipe of this one. It says nothing of "
            "another recipe, other columns, or a population that has moved."
        )
        if of["survival"]["judges"] < FEW_JUDGES:
            out.append(f"{of['survival']['judges']} judges are few: a person's own survival is known coarsely.")
    level = given["level"]
    if level is not None and not level["reached"]:
        out.append(f"The level of {100 * level['hold']:g}% is not known to be reached. {level['note']}".strip())
    if level is not None and figures["backtest"] is None:
        out.append("The level was not measured on past periods, so that nothing is known of drift.")
    return out


def _reasons(given: JsonObject, figures: JsonObject) -> list[str]:
    why = figures["reasons"]
    if why is None:
        return ["No reference rows were given, so that reasons were not looked at."]
    out = [f"Reasons were given to {why['people']:,} people, against rows next to the cut-off."]
    if given["reasons"]["how"] == "sampled":
        out.append("Contributions are sampled and have errors of their own.")
    if why["agreement"] is None:
        out.append("No guides were asked whether they give the same reasons.")
    hidden = [name for name, one in why["contributions"].items() if one["protected"]]
    if hidden:
        out.append(f"Protected columns that the model reads, and that are never named: {', '.join(hidden)}.")
    codes = given["reasons"]["codes"]
    if codes is not None and codes["sample"]:
        out.append("The codes of reasons are a sample that nobody has approved.")
    return out


def _rest(given: JsonObject, figures: JsonObject) -> list[str]:
    out = []
    if given["certificate"] is None:
        out.append("The model carries no certificate of recourse.")
    elif not given["certificate_check"]["ok"]:
        out.append("The certificate does not hold for this model and these people; see its check.")
    if figures["ledger"] is None:
        out.append("No ledger was given: what was promised to people, and kept, is not part of this.")
    else:
        if not figures["ledger"]["fulfilled_and_kept"]["n"]:
            out.append("Nobody has come back on a promise yet, so that none is known to have been kept.")
        if not figures["ledger"]["gates"]:
            out.append("The ledger has no gate: whether earlier models were held against promises is not known.")
    return out
