"""Compiled programs are dropped before the system has no memory maps left for them."""

import itertools
from pathlib import Path

import jax

MANY = 45_000  # of the 65,530 memory maps that Linux allows to a process; a program holds several
LOOK = 16  # calls from one look to the next: counting many takes milliseconds

_calls = itertools.count()


def n_maps() -> int:
    """Memory maps of this process; 0 where the system does not say."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def spare_maps(most: int = MANY) -> bool:
    """Look, every so often, and forget all compiled programs where there are too many; says whether it did.

    A program that cannot be mapped ends the process, without an error that could be caught: a notebook that goes
    through hundreds of models would die of it.
    """
    if next(_calls) % LOOK or n_maps() <= most:
        return False
    jax.clear_caches()
    return True
