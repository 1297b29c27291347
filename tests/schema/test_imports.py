"""The schema is light: no jax, and no dataframe library but the one that is used."""

import subprocess
import sys


def test_the_schema_does_not_import_jax() -> None:
    code = (
        "import sys, holdtrue.schema as s\n"
        "t = {'age': [30, 40, 50], 'home': ['own', 'rent', 'own'], 'y': [0, 1, 0]}\n"
        "s.Schema.from_yaml(s.Schema.infer(t, 'y').to_yaml()).check(t)\n"
        "print([m for m in ('jax', 'equinox', 'optax', 'polars', 'sklearn') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
