"""One dataset: generators trained for every subset and seed, base models and searches against them, the oracle."""

from collections.abc import Callable, Collection, Set
from dataclasses import replace
from typing import Any

from experiments._report import Clock
from experiments.rocoursenet._attack import attacks
from experiments.rocoursenet._baselines import front_labels, fronts, methods, searched
from experiments.rocoursenet._data import Tasks, read_tasks
from experiments.rocoursenet._generators import curves, judged, ms_per_person, trained
from experiments.rocoursenet._judge import performance
from experiments.rocoursenet._oracle import ceiling, cheapest
from experiments.rocoursenet._recipes import GUIDED, MAIN, PRINTED, Sizes, recipes
from experiments.rocoursenet._result import Result
from experiments.rocoursenet._settings import BASE_WIDTHS, SETTINGS
from experiments.rocoursenet._sweeps import SHARES, attacked, sweeps
from experiments.rocoursenet._train import fit_all, plain
from holdtrue.errors import DataError
from holdtrue.methods import AbstractMethod
from holdtrue.metrics import AttackNorm
from holdtrue.models import MLP, AbstractModel

GENERATED = ("table 2", "table 6", "table 7", "table 9", "table 10", "table 11", "figure 3", "figure 4",
             "figure 10", "figure 12")  # fmt: skip
FRAMEWORK = ("CF Model", "Robust CF Model", "VAE-CF", "Robust VAE-CF")
PARTS = {
    "guides": GENERATED,
    "printed": (*GENERATED, "table 8"),
    "plain": GENERATED,
    "ours": ("table 2",),
    **dict.fromkeys(FRAMEWORK, ("table 3", "figure 7")),
    **dict.fromkeys((name + PRINTED for name in FRAMEWORK), ("table 3",)),
    "random": ("table 8",),
    "base": ("table 6", "table 7"),
    "searches": ("table 2", "table 8", "table 11", "figure 3"),
    "oracle": ("table 2", "figure 3"),
    "fronts": ("figure 3",),
    "fronts, generators": ("figure 3",),
    "fronts, searches": ("figure 3",),
    "fronts, guides": ("figure 3",),
    "attacks": ("figure 4",),
    "attacks, l2": ("figure 12",),
    "sweeps": ("figure 4",),
    "sweeps, l2": ("figure 12",),
    "schedule": ("figure 6",),
    "sizes": ("figure 5",),
    **{f"sizes, {share:g}": ("figure 5",) for share in SHARES},
    "sizes, guides": ("figure 5",),
    "losses": ("figure 11",),
}
"""Tables and figures of the paper by what has to be run for them; each may also be asked for by its name here."""
LOAN_ONLY = {*FRAMEWORK, *(name + PRINTED for name in FRAMEWORK), "random"}
"""What the paper has of Loan alone, and other datasets have where it is asked for."""
SIMULATED = {"guides", "printed", "plain", "base", "oracle"}
"""What Table 9 needs."""
ATTACKS: dict[str, AttackNorm] = {"attacks": "linf", "attacks, l2": "l2"}
N_FEW = 3  # seeds of attacks, sweeps and fronts, and of the oracle two
N_ORACLE = 50  # people of each subset whom the oracle searches for


def run(
    name: str,
    *,
    n_splits: int = 5,
    first: int = 0,
    n_updates: int | None = None,
    n_people: int | None = 1000,
    subsets: tuple[str, ...] | None = None,
    whole: bool = False,
    quick: bool = False,
    parts: Collection[str] = (),
    say: Callable[[str], None] = lambda _: None,
    keep: Callable[[dict[str, Any]], None] = lambda _: None,
) -> Result:
    """Run one dataset and return its figures.

    Parameters
    ----------
    name : str
        One of `SETTINGS`.
    n_splits : int, default=5
        Seeds. Every one has its own base models and generators; the rows that are learned from stay the same.
        Attacks, sweeps and fronts have the first three, the oracle the first two.
    first : int, default=0
        The first seed, where seeds are run one by one.
    n_updates : int, optional
        Minibatches that every model learns from; as `SETTINGS` has them when left out.
    n_people : int, default=1000
        At most so many test rows of each subset; searches are asked about a hundred of them.
    subsets : tuple of str, optional
        Some of the subsets, where only what is measured on those is wanted (attacks, sweeps).
    whole : bool, default=False
        Attacks and sweeps on every subset, where they otherwise have some of them.
    quick : bool, default=False
        One seed, few updates and people; RoCourseNet and VanillaCF alone, unless `parts` are asked for.
    parts : collection of str, optional
        Tables and figures of the paper; all when left out.
    say : callable, optional
        Told what is being done.
    keep : callable, optional
        Given the figures so far after every part, so that a run that is cut off is not lost.
    """
    if name not in SETTINGS:
        raise DataError(f"papers: unknown dataset; got {name!r}. Known are {list(SETTINGS)!r}.")
    wanted = {p for p, of in PARTS.items() if not parts or {p, *of} & set(parts)}
    setting = SETTINGS[name]
    if not parts:
        wanted -= LOAN_ONLY if name != "loan" else set()
        wanted &= SIMULATED if not setting.options else wanted
    if wanted & set(ATTACKS):
        wanted |= {"guides", "printed", "plain"}  # whose recourse is attacked
    seeds = range(first, first + n_splits)
    sizes = Sizes(n_updates or setting.n_updates, setting.batch_size, seeds, 100)
    if quick:
        n_people, sizes = 60, Sizes(200, 64, range(1), 20)
        wanted = wanted if parts else {"guides", "printed", "base", "searches", "oracle"}
    clock = Clock(say)
    clock("data")
    tasks = read_tasks(name, n_people=n_people, subsets=subsets)
    result: dict[str, Any] = {
        "dataset": name,
        "title": setting.title,
        "subsets": [s.name for s in tasks],
        "n_learned": [len(s.learned.y) for s in tasks],
        "n_people": [len(s.asked.y) for s in tasks],
        "n_searched": min(sizes.n_searched, *(len(s.asked.y) for s in tasks)),
        "n_columns": tasks[0].encoder.n_columns,
        "seeds": list(sizes.seeds),
        "n_updates": sizes.n_updates,
        "main": list(MAIN),
        "methods": {}, "performance": {}, "oracle": {}, "times": {}, "sweeps_of": {},
    }  # fmt: skip
    if whole:
        result["whole"] = True
    made = _generators(result, tasks, sizes, wanted, clock, keep, quick=quick)
    if wanted & {"base", "searches", "oracle", "fronts", "fronts, searches"}:
        clock("base models")
        network = MLP(widths=BASE_WIDTHS, activation="leaky_relu", dropout=0.3)
        base = fit_all(tasks, network, plain(tasks, sizes.n_updates, sizes.batch_size), sizes.seeds)
        result["performance"]["Base model"] = [performance(tasks, own) for own in base]
        if "oracle" in wanted:
            for own, models in (("base model", base), (GUIDED, made.get(GUIDED, []))):
                clock(f"oracle, {own}")
                n, some = (10, models[:1]) if quick else (N_ORACLE, models[:2])
                result["oracle"] |= {own: [ceiling(cheapest(tasks, m, n_people=n)) for m in some]} if some else {}
                keep(result)
        if "searches" in wanted:
            _search(result, tasks, base, methods(quick=quick), sizes, clock)
            keep(result)
        if wanted & {"fronts", "fronts, searches"}:
            result["sweeps_of"] |= front_labels(fronts(quick=quick))
            _search(result, tasks, base[:N_FEW], fronts(quick=quick), sizes, clock)
            keep(result)
    _few(result, tasks, made, replace(sizes, seeds=list(sizes.seeds)[:N_FEW]), wanted, clock, keep, whole=whole)
    clock.stop()
    return Result.from_dict(result | {"seconds": clock.seconds})


def _generators(
    result: dict[str, Any],
    tasks: Tasks,
    sizes: Sizes,
    wanted: Set[str],
    clock: Clock,
    keep: Callable[[dict[str, Any]], None],
    *,
    quick: bool,
) -> dict[str, list[list[AbstractModel]]]:
    """Train and judge everything that writes recourse; the models, by name and seed."""
    made = {}
    for group in recipes(tasks, sizes, wanted):
        clock(f"training {', '.join(group)}")
        models, seconds = trained(tasks, group, sizes.seeds)
        for own, fitted in models.items():
            result["methods"][own], result["performance"][own] = judged(tasks, fitted)
            result["times"][own] = {
                "train_s": seconds / (len(group) * len(sizes.seeds)),
                "ms_per_person": ms_per_person(tasks, fitted[0][0], 1000 if quick else 10_000),
            }
        made |= models
        keep(result)
    return made


def _search(
    result: dict[str, Any],
    tasks: Tasks,
    base: list[list[AbstractModel]],
    chosen: dict[str, AbstractMethod],
    sizes: Sizes,
    clock: Clock,
) -> None:
    for seed, models in enumerate(base):
        clock(f"searches, seed {seed}")
        for own, figures in searched(tasks, models, chosen, sizes.n_searched).items():
            result["methods"].setdefault(own, []).append(figures)
            result["times"][own] = {"ms_per_person": figures["ms_per_person"]}


def _few(
    result: dict[str, Any],
    tasks: Tasks,
    made: dict[str, list[list[AbstractModel]]],
    sizes: Sizes,
    wanted: Set[str],
    clock: Clock,
    keep: Callable[[dict[str, Any]], None],
    *,
    whole: bool,
) -> None:
    """Attacks, sweeps and curves, most of them on some of the subsets where there are many, unless `whole`."""
    some = None if whole else tasks[0].setting.some
    places = [i for i, s in enumerate(tasks) if some is None or s.name in some]
    few = tasks if some is None else tuple(tasks[i] for i in places)
    for part, norm in ATTACKS.items():
        if part in wanted:
            clock(part)
            own = {
                name: [[models[i] for i in places] for models in by_seed[:N_FEW]]
                for name, by_seed in made.items()
                if name in MAIN
            }
            result.setdefault("attacks", {}).update(attacks(few, own, norm))
            keep(result)
    for sweep in sweeps(tasks, few, sizes, wanted):
        clock(f"sweep: {sweep.title}")
        labels = result["sweeps_of"].setdefault(sweep.title, {})
        labels |= {own: label for own, (label, _) in sweep.group.items()}
        left = {own: recipe for own, (_, recipe) in sweep.group.items() if own not in result["methods"]}
        for own, fitted in (trained(sweep.tasks, left, sizes.seeds)[0] if left else {}).items():
            result["methods"][own], _ = judged(sweep.tasks, fitted)
        keep(result)
    if "losses" in wanted:
        clock("loss curves")
        result["losses"] = curves(few, attacked(few, sizes), sizes.seeds)
        keep(result)
