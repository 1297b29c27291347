"""Whole tables as people bring them, in four languages: what may be advised, and nothing else."""

import numpy as np
import pytest

from holdtrue.schema import guess

N = 240
RNG = np.random.default_rng(7)


def pick(text: str) -> np.ndarray:
    return RNG.choice(np.array(text.split(" | "), object), N)


def money(middle: float) -> np.ndarray:
    return np.round(np.exp(RNG.normal(np.log(middle), 0.5, N)), 2)


def ids(before: str) -> np.ndarray:
    return np.array([f"{before}{i}" for i in RNG.permutation(N)], object)


GERMAN = {
    "Antragsnummer": ids("KA-"), "Antragsdatum": pick("01.03.2024 | 17.4.2024 | 30.11.2023"),
    "Vorname": pick("Anna | Cem | Eva"), "Geburtsjahr": RNG.integers(1950, 2003, N),
    "Geschlecht": pick("männlich | weiblich | divers"), "Familienstand": pick("ledig | verheiratet | geschieden"),
    "AnzahlKinder": RNG.integers(0, 4, N), "Staatsangehoerigkeit": pick("deutsch | polnisch | italienisch"),
    "Wohnort": pick("Köln | Bonn | Aachen"), "NettoeinkommenEUR": money(2800), "Kredithoehe": money(12000),
    "Laufzeit": RNG.choice([12, 24, 36, 48], N), "Verwendungszweck": pick("Auto | Umschuldung | Möbel"),
    "bestehendeKredite": RNG.integers(0, 5, N), "BeschaeftigtSeitJahren": RNG.gamma(2, 3, N).round(1),
    "Beruf": pick("Koch | Lehrerin | Beamter"), "Sollzins": RNG.uniform(2, 12, N).round(2),
    "Mahnungen_12M": RNG.integers(0, 3, N), "Arbeitslosenquote": RNG.uniform(3, 11, N).round(1),
}  # fmt: skip
FRENCH = {
    "id_dossier": np.arange(N) + 50001, "date_naissance": pick("1970-03-01 | 1981-12-24 | 1990-07-14"),
    "sexe": pick("H | F"), "situation_familiale": pick("célibataire | marié(e) | pacsé(e)"),
    "nb_enfants": RNG.integers(0, 4, N), "code_postal": RNG.choice([75011, 69003, 13001], N),
    "revenu_mensuel": money(2500), "apport": money(9000), "montant_pret": money(150000),
    "duree_mois": RNG.choice([120, 180, 240], N), "taux_endettement": RNG.uniform(5, 60, N).round(1),
    "anciennete_emploi": pick("moins de 1 an | 1 à 3 ans | plus de 3 ans"),
    "solde_compte": money(1500), "metier": pick("infirmier | boulanger"),
    "incidents_paiement": RNG.integers(0, 3, N), "taux_chomage": RNG.uniform(5, 12, N).round(1),
    "assurance_sante": pick("oui | non"),
}  # fmt: skip
SPANISH = {
    "numCliente": RNG.permutation(N) + 90000, "apellido": pick("Ruiz | Gil | Vega"),
    "edad": RNG.integers(19, 75, N),
    "genero": pick("hombre | mujer"), "estadoCivil": pick("soltero | casado | viudo"),
    "hijos": RNG.integers(0, 4, N),
    "nacionalidad": pick("española | rumana"), "ingresosMensuales": money(1500), "deudaTotal": money(4000),
    "plazoMeses": RNG.choice([6, 12, 18], N), "antiguedadLaboral": RNG.integers(0, 30, N),
    "impagosPrevios": RNG.integers(0, 3, N), "tasaDesempleo": RNG.uniform(8, 20, N).round(1),
    "provincia": pick("Madrid | Lugo"), "usoCredito": RNG.beta(2, 3, N).round(3),
}  # fmt: skip
ENGLISH = {
    "loan_id": ids("L"), "issue_d": pick("Jan-2019 | Mar-2019 | Oct-2018"), "loan_amnt": money(9000).round(-2),
    "int_rate": RNG.uniform(5, 25, N).round(2), "emp_title": pick("Teacher | RN | driver"),
    "emp_length": pick("< 1 year | 2 years | 5 years | 10+ years"), "annual_inc": money(50000),
    "addr_state": pick("NY | IL | CA"), "dti": RNG.gamma(4, 5, N).round(2), "num_late_90": RNG.integers(0, 3, N),
    "fico_range_low": RNG.integers(580, 830, N), "g": pick("Male | Female"), "eth": pick("Black | White | Asian"),
    "marr": RNG.integers(0, 2, N), "ndep": RNG.integers(0, 4, N), "unemp_rate": RNG.uniform(3, 9, N).round(1),
}  # fmt: skip
CAMEL = {
    "customerId": ids("C"), "firstName": pick("Ann | Bob | Cem"), "isSeniorCitizen": RNG.integers(0, 2, N),
    "hasPartner": pick("Yes | No"), "numDependents": RNG.integers(0, 3, N),
    "birthDate": pick("1970/03/01 | 1990/12/24"),
    "tenureMonths": RNG.integers(0, 72, N), "contractType": pick("one year | two years | month"),
    "monthlyCharges": RNG.uniform(18, 120, N).round(2), "totalCharges": money(2000),
    "supportCallsLast6Months": RNG.integers(0, 6, N), "lastLoginDaysAgo": RNG.integers(0, 90, N),
    "region": pick("north | south"), "indUnemp": RNG.uniform(3, 9, N).round(1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("table", "movable", "protected", "left_out"),
    [
        (
            GERMAN,
            "NettoeinkommenEUR+ Kredithoehe Laufzeit bestehendeKredite- BeschaeftigtSeitJahren+",
            "Geburtsjahr Geschlecht Familienstand AnzahlKinder Staatsangehoerigkeit",
            "Antragsnummer Antragsdatum Vorname",
        ),
        (
            FRENCH,
            "revenu_mensuel+ apport+ solde_compte+ montant_pret duree_mois taux_endettement- anciennete_emploi+ "
            "assurance_sante",
            "sexe situation_familiale nb_enfants",
            "id_dossier date_naissance",
        ),
        (
            SPANISH,
            "ingresosMensuales+ deudaTotal- plazoMeses antiguedadLaboral+ usoCredito-",
            "edad genero estadoCivil hijos nacionalidad",
            "numCliente apellido",
        ),
        (
            ENGLISH,
            "loan_amnt emp_length+ annual_inc+ dti- fico_range_low+",
            "g eth marr ndep",
            "loan_id issue_d",
        ),
        (
            CAMEL,
            "tenureMonths+ contractType monthlyCharges lastLoginDaysAgo",
            "isSeniorCitizen hasPartner numDependents",
            "customerId firstName birthDate",
        ),
    ],
    ids=["german", "french", "spanish", "english", "camel"],
)
def test_only_what_people_can_do_may_be_advised(table, movable, protected, left_out):
    found = guess(table)
    signs = {"increase": "+", "decrease": "-", "free": ""}
    moves = {f.name + signs[f.direction] for f in found.schema if f.direction != "fixed"}
    assert moves == set(movable.split())
    assert {f.name for f in found.schema if f.protected} == set(protected.split())
    assert set(found.left_out) == set(left_out.split())


def test_units_and_names_are_those_of_a_letter():
    german, french = guess(GERMAN).schema, guess(FRENCH).schema
    assert (german["NettoeinkommenEUR"].title, german["NettoeinkommenEUR"].unit) == ("Nettoeinkommen", "€")
    assert (german["Laufzeit"].unit, german["Laufzeit"].step) == ("months", 12.0)
    assert (french["duree_mois"].title, french["duree_mois"].unit) == ("duree", "months")
    assert french["taux_endettement"].unit == "%"
