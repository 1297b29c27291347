"""Words that may take another's place: WordNet's antonyms and synonyms, or a thesaurus of one's own."""

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from holdtrue.errors import DataError

FOLDER = "/usr/share/wordnet"  # where Debian's package puts it
VARIABLE = "HOLDTRUE_THESAURUS"
FILES = ("data.adj", "data.noun")

Substitutes = dict[str, dict[str, list[str]]]


def substitutes(place: str | Path | None = None) -> Substitutes:
    """Antonyms and synonyms of every word: ``{"antonyms": {word: [...]}, "synonyms": {word: [...]}}``.

    Parameters
    ----------
    place : path, optional
        The folder of WordNet's data files, or a text file with lines such as ``good: bad, poor`` (which are
        taken for antonyms). Else what the variable HOLDTRUE_THESAURUS names, else Debian's place.
    """
    where = Path(place or os.environ.get(VARIABLE, FOLDER))
    if where.is_file():
        return {"antonyms": _own(where), "synonyms": {}}
    if not all((where / name).is_file() for name in FILES):
        raise DataError(
            f"papers: a thesaurus is needed for the text experiment; got {str(where)!r}, which has no "
            f"{' and '.join(FILES)}. Install WordNet (Debian: wordnet-base), or set {VARIABLE}."
        )
    return _wordnet([line for name in FILES for line in _lines(where / name)])


def _own(path: Path) -> dict[str, list[str]]:
    pairs = (line.split(":", 1) for line in path.read_text(encoding="utf-8").splitlines() if ":" in line)
    return {word.strip().lower(): [w.strip().lower() for w in others.split(",")] for word, others in pairs}


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="latin-1") as text:
        yield from (line for line in text if not line.startswith("  "))  # the licence is indented


def _wordnet(lines: list[str]) -> Substitutes:
    """Read synsets: members are synonyms; an antonym is linked word by word, or through a similar adjective."""
    members: dict[tuple[str, str], list[str]] = {}
    opposite: dict[tuple[str, str], list[tuple[int, tuple[str, str], int]]] = defaultdict(list)
    similar: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for line in lines:
        offset, _, kind, count, *rest = line.split(" | ")[0].split()
        # A satellite adjective is listed as "s" and pointed to as "a".
        synset, n = ("a" if kind == "s" else kind, offset), int(count, 16)
        members[synset] = [word.split("(")[0].lower() for word in rest[0 : 2 * n : 2]]
        pointers = rest[2 * n + 1 :]
        for at in range(0, 4 * int(rest[2 * n]), 4):
            symbol, target, pos, ends = pointers[at : at + 4]
            to = ("a" if pos == "s" else pos, target)
            if symbol == "!":
                opposite[synset].append((int(ends[:2], 16), to, int(ends[2:], 16)))
            elif symbol == "&" and kind == "s":
                similar[synset].append(to)
    direct: dict[str, list[str]] = defaultdict(list)
    indirect: dict[str, list[str]] = defaultdict(list)
    synonyms: dict[str, list[str]] = defaultdict(list)
    for synset, words in members.items():
        for number, word in enumerate(words, 1):
            _add(direct, word, [members[to][end - 1] for start, to, end in opposite[synset] if start == number])
            _add(indirect, word, [members[to][end - 1] for h in similar[synset] for _, to, end in opposite[h]])
            _add(synonyms, word, [other for other in words if other != word])
    antonyms = {word: [*direct[word], *indirect[word]] for word in {**direct, **indirect}}
    return {
        "antonyms": {word: list(dict.fromkeys(others)) for word, others in antonyms.items() if others},
        "synonyms": {word: others for word, others in synonyms.items() if others},
    }


def _add(table: dict[str, list[str]], word: str, others: list[str]) -> None:
    for other in others:
        if other not in table[word] and other != word and other.isalpha() and word.isalpha():
            table[word].append(other)
