"""Figure 8: of the real rows nearest to a refused person, how many does a robust model accept?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from experiments.robustness_tradeoffs._measure import accepts
from holdtrue.models import AbstractModel

N_NEAR, N_PEOPLE = 300, 100


def nearby(x: np.ndarray, models: Sequence[AbstractModel]) -> dict[str, Any]:
    """Rows around one person in two dimensions with every model's answer, and the share accepted around many."""
    from sklearn.manifold import TSNE

    yes = np.array([accepts(model, x) for model in models])
    refused = np.flatnonzero(~yes[0])
    if len(refused) == 0:
        return {}
    asked = refused[:N_PEOPLE]
    near = np.array([np.argsort(np.linalg.norm(x - x[i], axis=1), kind="stable")[1 : N_NEAR + 1] for i in asked])
    shares = yes[:, near].mean(axis=(1, 2))
    # The person around whom the plain model is most divided.
    person = int(np.argmin(np.abs(yes[0][near].mean(axis=1) - 0.5)))
    chosen = np.concatenate([[asked[person]], near[person]])
    placed = TSNE(n_components=2, init="pca", perplexity=30, random_state=0).fit_transform(x[chosen])
    return {
        "n_rows": int(near.shape[1]),
        "n_people": len(asked),
        "accepted": [float(s) for s in shares],
        "person": {
            "xy": [[round(float(v), 2) for v in point] for point in placed],
            "accepted": [[int(v) for v in row[chosen]] for row in yes],
        },
    }
