"""What the demo trained, kept beside compiled programs, so that a second look at it is short."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from holdtrue._cache import cache_dir
from holdtrue.errors import HoldtrueError

if TYPE_CHECKING:
    from holdtrue.classifier import RecourseClassifier
    from holdtrue.retraining import AbstractRetrained, Retrained

MODEL, UNSEEN, PREFIX = "model.holdtrue", "unseen.npz", "model/"


def place(asked: object) -> Path | None:
    """Where the demo's models lie, by what was asked of them and by the code that trained them; None: nowhere."""
    directory = cache_dir()
    if directory is None:
        return None
    whole = hashlib.sha256(repr(asked).encode())
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        whole.update(file.read_bytes())
    return directory.parent.parent / "demo" / whole.hexdigest()[:16]


def read(folder: Path | None) -> "tuple[RecourseClassifier, Retrained] | None":
    """The classifier and the models that are to judge it, or None where there is nothing that can be read."""
    if folder is None or not folder.is_dir():
        return None
    import numpy as np

    import holdtrue as ht
    from holdtrue.models import EnsembleModel, with_arrays
    from holdtrue.retraining import Retrained

    try:
        classifier = ht.RecourseClassifier.load(folder / MODEL)
        with np.load(folder / UNSEEN, allow_pickle=False) as arrays:
            model = classifier.predictor_.decision.model.alone
            members = with_arrays(model, dict(arrays), PREFIX, stacked=True)
    except (OSError, ValueError, KeyError, HoldtrueError):
        return None  # half of it, or of another time: it is trained again
    return classifier, Retrained(classifier.predictor_, EnsembleModel(members), "anew")


def write(folder: Path | None, classifier: "RecourseClassifier", unseen: "AbstractRetrained") -> None:
    """Keep the models in place of those of any other demo; a directory that cannot be written is no harm."""
    if folder is None:
        return
    import numpy as np

    from holdtrue.models import to_arrays
    from holdtrue.retraining import Retrained

    assert isinstance(unseen, Retrained)  # of holdtrue's own models, one's weights beside another's

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for old in folder.parent.iterdir():
            shutil.rmtree(old, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            classifier.save(Path(made) / MODEL)
            np.savez(Path(made) / UNSEEN, allow_pickle=False, **to_arrays(unseen.ensemble.members, PREFIX))
            os.rename(made, folder)  # whole or not at all
            Path(made).mkdir()  # for whoever clears it away
    except OSError:
        return
