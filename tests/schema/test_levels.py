"""What the guess reads from what a column holds, whatever it is called."""

import numpy as np
import pytest

from holdtrue.schema import guess


def column(name, levels):
    return guess({name: np.resize(np.array(levels, object), 4 * len(levels))}).columns[0]


@pytest.mark.parametrize(
    ("levels", "what"),
    [
        (["male", "female"], "sex"), (["Male", "Female", "Unknown"], "sex"), (["M", "F"], "sex"),
        (["m", "w", "d"], "sex"), (["weiblich", "männlich"], "sex"), (["Herr", "Frau"], "sex"),
        (["Homme", "Femme"], "sex"), (["hombre", "mujer"], "sex"), (["Maschio", "Femmina"], "sex"),
        (["Black", "White", "Asian", "Hispanic"], "origin"), (["Black", "White"], "origin"),
        (["African-American", "Caucasian", "Other"], "origin"),
        (["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"], "origin"),
        (["White", "Black or African American", "Race Not Available", "Joint"], "origin"),
        (["citizen", "permanent resident", "visa"], "origin"),
        (["married", "single", "divorced"], "family"), (["verheiratet", "ledig", "geschieden"], "family"),
        (["Married-civ-spouse", "Never-married", "Divorced", "Widowed"], "family"),
        (["célibataire", "marié", "veuf"], "family"), (["soltera", "casada", "viuda"], "family"),
        (["Husband", "Wife", "Own-child", "Unmarried"], "family"),
        (["catholic", "protestant", "none"], "faith or conviction"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["g", "x7", "Merkmal"])
def test_who_people_are_is_read_from_the_levels(name, levels, what):
    found = column(name, levels)
    assert (found.feature.direction, found.feature.protected) == ("fixed", True)
    assert found.why[-1].startswith("fixed and protected, because of its levels: ")
    assert found.why[-1].endswith(f" are about {what}.")
    assert sum(repr(level) in found.why[-1] for level in levels) == 2


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("g", ["single", "double", "suite"]), ("g", ["white", "red", "rosé"]), ("car_colour", ["black", "white"]),
        ("Farbe", ["schwarz", "weiss"]), ("paint", ["black", "white", "silver"]), ("g", ["yes", "no"]),
        ("g", ["low", "middle", "high"]), ("size", ["S", "M", "L"]), ("g", ["F", "T"]), ("g", ["M", "Q", "A"]),
        ("application_type", ["single", "joint"]), ("g", ["own", "rent", "free"]),
        ("g", ["asian food", "italian food", "burgers", "bar"]), ("g", ["Married Filing", "Head", "Trust"]),
    ],
)  # fmt: skip
def test_levels_of_other_matters_are_left_alone(name, levels):
    assert not column(name, levels).feature.protected


def test_letters_are_a_sex_only_where_the_name_does_not_speak_of_something_else():
    assert column("kind", ["F", "M"]).doubt == "Is it whether a person is a woman or a man?"
    charge = column("c_charge_degree", ["F", "M"])
    assert (charge.feature.direction, charge.feature.protected) == ("fixed", False)


def test_numbers_that_are_levels_tell_nothing():
    assert not column("g", [1, 2]).feature.protected
    assert not column("g", [True, False]).feature.protected
