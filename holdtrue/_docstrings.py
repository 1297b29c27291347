"""Docstrings of classes that inherit parameters: each is told once, where it is declared, and read everywhere."""

import inspect
import re
from collections.abc import Iterator

HEADING = "Parameters\n----------\n"
SECTION = re.compile(r"^\w[\w ]*\n-{3,}\n", re.M)
ENTRY = re.compile(r"^(\w+(?:, \w+)*)(?: : .*)?\n(?:(?: {4}.*)?\n)*(?: {4}.*\n?)", re.M)


def completed(cls: type, names: list[str]) -> str | None:
    """The docstring of a class, with a base's entry for each of these parameters that its own does not tell of."""
    text = inspect.cleandoc(cls.__doc__) if cls.__doc__ else ""
    before, entries, after = _split(text)
    told = {name for names, _ in _entries(entries) for name in names}
    added = []
    for base in cls.__mro__[1:]:
        for also, entry in _entries(_split(inspect.cleandoc(base.__dict__.get("__doc__") or ""))[1]):
            if not told.issuperset(also) and set(also) <= set(names):
                added.append(_with_default(entry, *(getattr(kind, also[0], None) for kind in (base, cls))))
                told |= set(also)
    if not added:
        return cls.__doc__
    parts = "\n".join(part.rstrip("\n") for part in (entries, *added) if part)
    return "\n\n".join(part for part in (before.rstrip("\n"), HEADING + parts, after) if part)


def _split(text: str) -> tuple[str, str, str]:
    """What stands before the parameters, their entries, and what stands after them."""
    before, found, rest = text.partition(HEADING)
    if not found:
        section = SECTION.search(text)
        at = section.start() if section else len(text)
        return text[:at], "", text[at:]
    section = SECTION.search(rest)
    at = section.start() if section else len(rest)
    return before, rest[:at].rstrip("\n") + "\n", rest[at:]


def _entries(entries: str) -> Iterator[tuple[list[str], str]]:
    for found in ENTRY.finditer(entries):
        yield found[1].split(", "), found[0]


def _with_default(entry: str, told: object, own: object) -> str:
    """An entry with the default that the parameter has in a class which declares it again."""
    if told == own:
        return entry
    head, line, text = entry.partition("\n")
    shown = f'"{own}"' if isinstance(own, str) else repr(own)
    return re.sub(r"default=.*$", lambda _: f"default={shown}", head) + line + text
