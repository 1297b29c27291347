"""Theorems 2, 3 and 5 on trained models, split by split: kernel models, and pairs of linear ones.

    python -m experiments.robustness_tradeoffs.theorems run FOLDER [--dataset NAME ...] [--split N ...]
        [--rows 800] [--people 200]
    python -m experiments.robustness_tradeoffs.theorems merge FOLDER

What `theory` asks of one split and one pair. Kernel models learn from ``rows`` rows of a split, as they are and
attacked at three radii, and every test row is a case for each radius and aim of the search. A pair is a plain
linear model and one trained against an attack; the codes are C-CHVAE's for up to ``people`` whom both refuse, of
4,000 rows of the table that are others for every split. ``run`` has five splits unless it is given some, a file
each; ``merge`` makes ``results/theorems.json`` of them: of every figure a list, a value a split.
"""

from typing import Any

import numpy as np

from experiments.robustness_tradeoffs._cells import merge, parsers, run
from experiments.robustness_tradeoffs._settings import THEOREM_3
from experiments.robustness_tradeoffs.theory import Tally, people_codes, people_kernel
from holdtrue.encoding import Encoder

N_SPLITS = 5
N_ROWS = 4000  # that a pair and the codes learn from


def measure(options: Any, x: np.ndarray, y: np.ndarray, encoder: Encoder, seed: int) -> dict[str, Any]:
    """How often each form applies and is violated for one split of one dataset."""
    tally = Tally()
    people_kernel(tally, "people", x, y, encoder, options.rows, seed)
    rows = np.random.default_rng(seed).permutation(len(x))[:N_ROWS]
    X, labels = encoder.decode(x[rows]), y[rows]
    told = people_codes(
        tally, "people", X, labels, encoder.schema, options.people, seed=seed, radii=tuple(THEOREM_3)
    )
    figures = {name.removeprefix("people: "): forms for name, forms in tally.values().items()}
    return figures | {"codes": told}


def main() -> None:
    """Read the command line."""
    parser, running = parsers(__doc__)
    running.set_defaults(split=range(N_SPLITS))
    running.add_argument("--rows", type=int, default=800)
    running.add_argument("--people", type=int, default=200)
    given = parser.parse_args()
    match given.command:
        case "run":
            run("theorems", measure, given, f"--rows {given.rows} --people {given.people}")
        case "merge":
            merge("theorems", given.folder, given.out)


if __name__ == "__main__":
    main()
