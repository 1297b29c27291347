"""The notebooks are what their sources say, and run."""

import importlib.util
import json
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2] / "docs" / "notebooks"
spec = importlib.util.spec_from_file_location("make_notebooks", HERE / "make.py")
assert spec is not None
assert spec.loader is not None
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


@pytest.mark.parametrize("source", make.sources(), ids=lambda path: path.stem)
def test_a_notebook_is_its_source_and_runs(source):
    text = source.read_text(encoding="utf-8")
    kept = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert [(c["cell_type"], "".join(c["source"])) for c in kept["cells"]] == make.cells(text)
    with make.limited(make.LIMIT):
        made = make.notebook(text)  # whatever is wrong in a cell is raised
    for old, new in zip(kept["cells"], made["cells"], strict=True):
        # Digits differ between processors; what kind of thing is shown does not.
        kinds = [[(o["output_type"], sorted(o.get("data", ()))) for o in c.get("outputs", ())] for c in (old, new)]
        assert kinds[0] == kinds[1], "".join(new["source"])


def test_cells():
    text = "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\nprint(x)\nx + 1\n"
    first, second = make.cells(text)
    assert (first.kind, first.source) == ("markdown", "# Title\n\nText.")
    shown = make.run(second.source, {}, 1)
    assert shown[0]["text"] == ["1\n"]
    assert shown[1]["data"] == {"text/plain": ["2"]}


def test_a_notebook_that_takes_too_long_is_stopped():
    began = time.process_time()
    with pytest.raises(TimeoutError, match=r"takes more than 0\.2 s"), make.limited(0.2):
        make.notebook("# %%\nwhile True:\n    pass\n")
    assert time.process_time() - began < 5
    with make.limited(0.2):
        pass
    until = time.process_time() + 0.4
    while time.process_time() < until:  # nothing is left that would stop what comes later
        pass
