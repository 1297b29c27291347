"""In what a column of numbers is counted, as far as its name and values tell: money, months, years, percent."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from holdtrue.schema._lexicon import entries, first_word, has_word, words_of

CURRENCIES = {
    "€": "eur, euro, euros",
    "$": "usd, dollar, dollars, us dollar",
    "£": "gbp, pound sterling, pounds sterling",
    "CHF": "chf, franken, sfr",
    "¥": "jpy, yen",
    "CNY": "cny, rmb, yuan",
    "INR": "inr, rupee, rupees, rupien",
    "SEK": "sek",
    "NOK": "nok",
    "DKK": "dkk",
    "PLN": "pln, zloty",
    "CZK": "czk",
    "AUD": "aud",
    "CAD": "cad",
    "BRL": "brl, reais",
    "ZAR": "zar",
}
_SPANS = {
    "months": "months, mths, mnths, mos, monate, monaten, mois, meses, mesi",
    "years": "years, yrs, jahre, jahren, ans, annees, anos, anios, anni",
    "days": "days, tage, tagen, jours, dias, giorni",
    "weeks": "weeks, wks, wochen, semaines, semanas, settimane",
    "hours": "hours, hrs, stunden, heures, horas",
}
_PERCENT = entries("pct, percent, percentage, prozent, pourcent*, porcent*, percentual*, perc")
_RATES = entries("""
    interest rate, int rate, interest, apr, ~zinssatz, zins, taux interet, tasa interes, taxa juros,
    tasso interesse,
    taux, tasa, tasso, taxa, *quote, endettement, uso credito, revol util,
    utilisation, utilization, ~utiliz, ~utilis, dti, debt to income, ltv, loan to value, auslastung*,
    rate of interest""")
_MONEY = entries("""
    income, incomes, ~income, salary, wage, wages, earnings, amount, amt, balance, assets, savings, debt,
    debts, price,
    rent, payment, payments, deposit, deposits, expenses, expenditure, spending, cost, costs, fee, fees,
    net worth,
    wealth, mortgage, limit, credit limit, capital, cash, revenue, turnover, profit, budget, charges,
    instalment*,
    loan amount, loan amnt, revol bal, annual inc, collateral, ~loanamt, ~loanamount
    einkommen, ~einkommen, gehalt, gehälter, lohn, betrag, ~betrag, kredithöhe, ~summe, vermögen, schulden,
    ersparnis*,
    miete, monatsrate, kreditrate, preis, ~preis, ausgaben, ~kosten, kontostand, guthaben, einnahmen,
    umsatz, sparguthaben
    revenu, revenus, salaire, montant, dette, dettes, epargne, loyer, mensualite*, prix, depenses, solde,
    apport,
    patrimoine, charges, capital
    ingreso, ingresos, salario, sueldo, importe, monto, deuda, deudas, ahorro, ahorros, alquiler, cuota,
    precio, gastos,
    saldo, renda, valor, divida, poupanca, despesas, parcela, aluguel, reddito, stipendio, importo, debito,
    risparmi,
    affitto, rata, prezzo, spese""")
_NO_MONEY = entries("""
    num, number, n, no, count, cnt, anzahl, nombre, nb, numero, numer, ratio, to, share, percent, pct,
    percentage, rate,
    rank, decile, score, level, group, class, index, type, category, flag, months, years, days, since, age,
    prozent,
    history, status, code, frequency, quote, taux, tasa, log, ln""")
_COUNTS = entries(
    "num, number, count, cnt, anzahl, nombre, nb, numero, how many, anz, cantidad, quantidade, quante"
)
_COUNTED_IN = entries("per, last, past, previous, next, within, every, pro, par, por, letzt*, dernier*, ultim*")
_TERMS = entries("term, duration, ~laufzeit, duree, plazo, prazo, durata, maturity, tenor, installments")
_OPEN_TIME = entries(
    "tenure, seniority, experience, duration, anciennete, antiguedad, ~zugehörig, dauer, duree, plazo"
)
_JOINT = r"[\s_.\-]+(?:(?:in|en|em|di|of)[\s_.\-]+)?"


class Unit(NamedTuple):
    """A guess of a unit.

    Attributes
    ----------
    unit : str or None
        None where there is none, or where only the owner knows.
    why : str or None
        The guess in a sentence.
    ask : str or None
        What only the owner can say.
    """

    unit: str | None = None
    why: str | None = None
    ask: str | None = None


NO_UNIT = Unit()


def unit_of(name: str, present: np.ndarray) -> Unit:
    """The unit of a column of numbers."""
    words = words_of(name)
    if not len(present):
        return NO_UNIT
    low, high = float(present.min()), float(np.quantile(present, 0.98))
    currency = _currency(name, words)
    if currency is not None:
        return Unit(currency, f"in {currency}, because of its name.")
    if has_word(words, _PERCENT) or "%" in name:
        if high <= 1.0 and low >= -1.0:
            return Unit(None, "a share between 0 and 1, though its name speaks of percent.")
        return Unit("%", "in %, because of its name.")
    span = _span(words)
    if span is not None and not (low >= 1900 and high <= 2100):
        return Unit(span[0], f"in {span[0]}, because of its name: {span[1]!r}.")
    if has_word(words, _RATES) and not has_word(words, _COUNTS) and 2.0 < high <= 400.0:
        return Unit("%", f"in %, because of its name and since values reach {high:.3g}.")
    if has_word(words, _TERMS) and _are_terms(present):
        return Unit("months", f"in months, since all are multiples of {12 if (present % 12 == 0).all() else 6}.")
    counted = first_word(words, _COUNTS)
    if counted is not None:
        return Unit(None, f"a count, because of its name: {counted!r}; it needs no unit.")
    money = first_word(words, _MONEY)
    if money is not None and not has_word(words, _NO_MONEY) and high > 2.0:
        return Unit(None, f"an amount of money, because of its name: {money!r}; which currency, only you know.",
                    "In which currency?")  # fmt: skip
    if has_word(words, _OPEN_TIME):
        return Unit(None, None, "In months or in years?")
    return NO_UNIT


def without_unit(called: str, unit: str) -> str:
    """What sentences call a column, less the unit at its end: `loan term` for `loan term months`."""
    names = (CURRENCIES | _SPANS | {"%": "pct, percent, prozent"}).get(unit, "")
    last = "|".join(map(re.escape, [unit, *names.split(", ")]))
    bare = re.sub(rf"{_JOINT}\(?(?:{last})\)?$", "", called, flags=re.IGNORECASE)
    parts = bare.split()
    # What is left must name something: "loan term", not "at address" or "employed".
    return bare if names and parts and bare != called and not has_word(words_of(parts[-1]), _LOOSE) else called


_LOOSE = entries("""
    since, seit, depuis, desde, at, in, of, per, last, past, number, num, job, employed, time, for, as,
    with, on,
    to, left, until, pro, par, por, beschäftigt*, employment""")


def _currency(name: str, words: Sequence[str]) -> str | None:
    for symbol, names in CURRENCIES.items():
        if (len(symbol) == 1 and symbol in name) or has_word(words, entries(names)):
            return symbol
    return None


def _span(words: Sequence[str]) -> tuple[str, str] | None:
    """A length of time that a name ends with or speaks of, unless it is one in which something is counted."""
    for unit, names in _SPANS.items():
        word = first_word(words, entries(names))
        if word is None:
            continue
        at = words.index(word)
        before = words[at - 1] if at else ""
        if before.isdigit() or has_word([before], _COUNTED_IN) or has_word(words, _COUNTS):
            return None
        if has_word(words, entries("income, salary, wage, amount, payment, payments, late")):
            return None
        return unit, word
    return None


def _are_terms(present: np.ndarray) -> bool:
    """Whether numbers are the lengths of contracts: of a year and more, in half years."""
    values = np.unique(present)
    return bool(len(values) <= 20 and values.min() >= 6 and values.max() <= 480 and (values % 6 == 0).all())
