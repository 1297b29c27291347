"""Who people are, read from what a column holds where its name does not tell."""

from collections.abc import Sequence

from holdtrue.schema._feature import MISSING_LEVEL
from holdtrue.schema._lexicon import entries, first_word, has_word, words_of

_UNKNOWN = entries("""
    other, others, unknown, na, n a, none, not available, not applicable, not provided, not specified,
    prefer not, declined,
    refused, no answer, missing, undisclosed, nan, null, decline to state, free form text only, joint
    unbekannt, sonstige*, andere*, keine angabe, inconnu*, autre*, desconocid*, otro, otra, otros, outro,
    outra, altro, ignoto
""")
_SEXES = entries("""
    male, female, males, females, man, woman, men, women, boy, girl, nonbinary, non binary, transgender,
    mr, mrs, ms, miss,
    mann, frau, männlich, weiblich, herr, divers, homme, femme, masculin, feminin, monsieur, madame,
    mademoiselle
    hombre, mujer, masculino, femenino, varon, senor, senora, homem, mulher, feminino, uomo, donna,
    maschio, femmina,
    maschile, femminile""")
_ORIGINS = entries("""
    black, white, asian, hispanic, latino, latina, latinx, caucasian, african american, african,
    native american,
    american indian, amer indian, alaska native, pacific islander, native hawaiian, two or more, 2 or more,
    multiracial,
    mixed race, biracial, indigenous, arab, roma, eskimo
    citizen, noncitizen, non citizen, permanent resident, resident alien, foreigner, immigrant,
    native born, foreign born
    inländer*, ausländer*, deutsch, deutsche, eu bürger, migrant, francais, francaise, etranger, etrangere,
    nacional,
    extranjer*, estrangeir*, italian*, stranier*, nativo""")
_FAITHS = entries("""
    christian*, muslim*, islam*, jewish, hindu*, buddhist*, sikh*, catholic*, protestant*, orthodox*,
    atheist*, agnostic*,
    evangelical, lutheran, anglican, evangelisch, katholisch, konfessionslos, muslimisch, jüdisch,
    catholique, musulman*,
    protestante, juif, catolic*, judi*, cattolic*, ebre*""")
_MARITAL = entries("""
    married, unmarried, single, divorced, divorcee, widow*, separated, never married, cohabit*,
    domestic partner*,
    civil partner*, husband, wife, spouse, own child, not in family
    ledig, verheiratet, geschieden, verwitwet, getrennt lebend, getrennt, lebenspartnerschaft
    celibataire, marie, mariee, divorce, veuf, veuve, separe*, pacse*, concubin*, union libre
    soltero, soltera, casado, casada, divorciad*, viudo, viuda, separad*, solteiro, solteira, viuvo, viuva,
    uniao estavel
    celibe, nubile, sposato, sposata, coniugat*, divorziat*, vedovo, vedova""")
_GROUPS = (("sex", _SEXES), ("origin", _ORIGINS), ("family", _MARITAL), ("faith or conviction", _FAITHS))
_COLOURS = entries("""
    red, blue, green, grey, gray, silver, yellow, beige, gold, orange, pink, purple, rot, blau, grun,
    rouge, bleu, rojo, azul
""")
_NAMED_COLOUR = entries(
    "~colour, ~color, farbe, ~lackierung, couleur, cor, wine, wein, vin, piece*, team, side, ink, cuisine"
)
_LETTERS = ({"m", "f"}, {"m", "w"}, {"h", "f"}, {"h", "m"}, {"m", "k"})
_MANY = 0.6  # of the levels that say anything


def who(name: str, levels: Sequence[object]) -> tuple[str, str, str] | None:
    """What a column's levels tell about people (sex, origin, ...), with two of them; None where they do not.

    At least two levels must say different things of the same matter,
    and most of the levels must be about it: so a
    size of `single` or `double` tells nothing, nor does one wine that is white.
    """
    told = [(str(level), words_of(str(level))) for level in levels if isinstance(level, str)]
    if len(told) < len(levels):
        return None
    told = [(level, words) for level, words in told if words and level != MISSING_LEVEL]
    for what, lexicon in _GROUPS:
        found = {level: first_word(words, lexicon) for level, words in told}
        hits = {level: word for level, word in found.items() if word is not None}
        plain = [level for level, words in told if level in hits or not has_word(words, _UNKNOWN)]
        if len(set(hits.values())) < 2 or len(hits) < _MANY * len(plain):
            continue
        if lexicon is _ORIGINS and _is_colour(name, [words for _, words in told]):
            continue
        first = next(iter(hits))
        second = next(level for level, word in hits.items() if word != hits[first])
        return what, first, second
    return None


def sex_by_letter(levels: Sequence[object]) -> tuple[str, str] | None:
    """The two letters by which levels such as `M` and `F` tell women from men; None where they do not."""
    texts = [level for level in levels if isinstance(level, str) and level != MISSING_LEVEL]
    plain = sorted(t for t in texts if t.strip() and not has_word(words_of(t), _UNKNOWN))
    letters = [t.strip().casefold() for t in plain]
    other = {"d", "x", "u"}  # diverse, neither, unknown
    found = len(texts) == len([v for v in levels if v != MISSING_LEVEL]) and any(
        pair <= set(letters) <= pair | other for pair in _LETTERS
    )
    if not found:
        return None
    first, second = (t for t, letter in zip(plain, letters, strict=True) if letter not in other)
    return first, second


def _is_colour(name: str, levels: Sequence[Sequence[str]]) -> bool:
    """Whether black and white are those of a thing."""
    return has_word(words_of(name), _NAMED_COLOUR) or any(has_word(words, _COLOURS) for words in levels)
