"""Every registered method on German Credit and an MLP 128-64-16: people per second after compilation.

    python -m benchmarks.throughput [--people 1024] [--methods wachter,sns,...]

A method is first timed on 64 people; one that takes less than two seconds for them is timed on all. Speed is from
the table to the checked table, best of three calls.

Floor: what the search would take if it did nothing but its matrix products, at the rate of plain products of the
network's shapes on the same cores. The products of one step are counted in the traced program (a decoder's or a
surrogate's included), times the steps that people's searches took. Methods that solve their problems outside a
compiled search, or by several searches one after another, have none.
"""

import argparse
import math
from typing import Any

import jax
import numpy as np
import pandas as pd

import holdtrue as ht
from benchmarks._common import WIDTHS, best_of, german_job, matmul_rate, record
from holdtrue.encoding import feasible_sets
from holdtrue.methods import METHODS, AbstractSolverMethod
from holdtrue.models import n_cores
from holdtrue.schema import as_table
from holdtrue.search import Problems

FEW = 64
PATIENCE = 2.0  # seconds for the few, beyond which more people would tell nothing new
PROGRAMS = ("linear_program", "flipset")
GOALS = {"gradient": 1000.0, "sampling": 100.0, "program": 50.0}


def family(name: str) -> str:
    """Linear and integer programs; searches along gradients; searches that only ask."""
    if name in PROGRAMS:
        return "program"
    return "gradient" if "differentiable" in METHODS[name].needs else "sampling"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=1024)
    parser.add_argument("--methods", default="all")
    options = parser.parse_args()
    asked = list(METHODS) if options.methods == "all" else options.methods.split(",")
    clf, refused, data = german_job()
    rows = np.random.default_rng(0).integers(0, len(refused), options.people)
    people = refused.iloc[rows].reset_index(drop=True)
    widths = (clf.predictor_.encoder.n_columns, *WIDTHS, 2)
    rate = matmul_rate(256, widths, n_cores())
    train = ht.datasets.load("german_credit") if data == "german_credit" else None
    print(f"\n{data}, MLP {WIDTHS}; plain matrix products {rate / 1e9:,.1f} GFLOP/s")
    print(
        f"{'':<20}{'family':<10}{'people':>8}{'found':>8}{'people/s':>11}{'goal':>7}{'floor/s':>12}"
        f"{'of floor':>10}{'steps':>8}{'first s':>11}"
    )
    results = {}
    for name in asked:
        results[name] = row = measure(name, clf, train, people, rate)
        show(name, row)
    command = f"python -m benchmarks.throughput --people {options.people} --methods {options.methods}"
    values = {"data": data, "plain matrix products, GFLOP/s": rate / 1e9, "goals": GOALS, "methods": results}
    record("throughput", command, values, shown=False)


def measure(name: str, clf: Any, train: Any, people: pd.DataFrame, rate: float) -> dict[str, Any]:
    """Time one method, and count what it had to do."""
    method: Any = METHODS[name]()
    if "random_state" in method.get_params():
        method.set_params(random_state=0)
    row: dict[str, Any] = {"family": family(name), "goal": GOALS[family(name)]}
    known = (people, None) if train is None else (train.X.iloc[:700], train.y[:700])
    try:
        method.fit(clf, *known)
        few = people.iloc[:FEW]
        first = best_of(lambda: method.recourse(few), 1)
        seconds = best_of(lambda: method.recourse(few), 3)
        n = len(few)
        if seconds < PATIENCE:
            n = len(people)
            method.recourse(people)  # another batch size may compile again
            seconds = best_of(lambda: method.recourse(people), 3)
        plan = method.recourse(people.iloc[:n])
    except ht.errors.HoldtrueError as error:
        return row | {"not run": str(error)}
    steps = float(np.asarray(plan.n_steps).mean())
    row |= {"people": n, "found": float(plan.found.mean()), "people per second": n / seconds, "steps": steps}
    row |= {"seconds of the first call": first}
    if isinstance(method, AbstractSolverMethod) and type(method).search is AbstractSolverMethod.search and steps:
        each = products_per_step(method, people.iloc[:1])
        if each:
            floor = rate / (steps * each)
            row |= {"operations per step": each, "floor, people per second": floor}
            row |= {"ratio to the floor": n / seconds / floor}
    return row


def show(name: str, row: dict[str, Any]) -> None:
    """Print one line."""
    if "not run" in row:
        print(f"{name:<20}{row['family']:<10}{row['not run']}", flush=True)
        return
    floor, ratio = row.get("floor, people per second"), row.get("ratio to the floor")
    mark = "" if row["people per second"] >= row["goal"] else "  MISSES"
    print(
        f"{name:<20}{row['family']:<10}{row['people']:>8,}{row['found']:>8.2f}{row['people per second']:>11,.0f}"
        f"{row['goal']:>7,.0f}" + (f"{floor:>12,.0f}{ratio:>10.3f}" if floor else f"{'-':>12}{'-':>10}")
        + f"{row['steps']:>8.0f}{row['seconds of the first call']:>11.1f}{mark}",
        flush=True,
    )  # fmt: skip


# ---- counting ---------------------------------------------------------------------------------------


def products_per_step(method: Any, person: pd.DataFrame) -> float:
    """Floating-point operations in the matrix products of one step for one person."""
    feasible = feasible_sets(method.predictor_.encoder, as_table(person))
    x = feasible.x
    batch = Problems(x, np.ones(1, np.int32), feasible, method._keys(x), x)
    solver = method.solver()

    def step(problems: Problems) -> Any:
        return problems.each(lambda problem: solver.step(problem, solver.begin(problem)))

    def start(problems: Problems) -> Any:
        return problems.each(solver.begin)

    return products(jax.make_jaxpr(step)(batch).jaxpr) - products(jax.make_jaxpr(start)(batch).jaxpr)


def products(jaxpr: Any) -> float:
    """Operations in all matrix products of a traced program; a loop of unknown length counts once."""
    total = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contract, _), _ = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            total += 2.0 * math.prod(equation.outvars[0].aval.shape) * math.prod(shape[i] for i in contract)
            continue
        inner = [products(sub) for sub in sub_programs(equation.params)]
        if inner:
            times = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
            total += times * (max(inner) if equation.primitive.name == "cond" else sum(inner))
    return total


def sub_programs(params: dict[str, Any]) -> list[Any]:
    """The programs inside a loop, a branch or a call."""
    out = []
    for value in params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            item = getattr(item, "jaxpr", item)
            if hasattr(item, "eqns"):
                out.append(item)
    return out


if __name__ == "__main__":
    main()
