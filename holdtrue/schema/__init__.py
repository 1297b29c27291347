"""What the columns are and how each may change. No jax here."""

from holdtrue.schema._checks import did_you_mean, plain, shown
from holdtrue.schema._columns import sorted_levels
from holdtrue.schema._constraints import Implication, LinearConstraint
from holdtrue.schema._favourable import LAST, favourable_of, plainly_wanted, question
from holdtrue.schema._feature import DIRECTIONS, KINDS, MISSING_LEVEL, Feature, Level
from holdtrue.schema._guess import ColumnGuess, Guess
from holdtrue.schema._infer import guess
from holdtrue.schema._json_schema import json_schema
from holdtrue.schema._keywords import HintedKeywords, hinted
from holdtrue.schema._parse import parse_json, parse_yaml
from holdtrue.schema._restriction import Restriction, Restrictions, RestrictionsLike, normalise_restrictions
from holdtrue.schema._schema import Schema
from holdtrue.schema._table import Table, TableLike, as_table, narrow

__all__ = [
    "DIRECTIONS",
    "KINDS",
    "LAST",
    "MISSING_LEVEL",
    "ColumnGuess",
    "Feature",
    "Guess",
    "HintedKeywords",
    "Implication",
    "Level",
    "LinearConstraint",
    "Restriction",
    "Restrictions",
    "RestrictionsLike",
    "Schema",
    "Table",
    "TableLike",
    "as_table",
    "did_you_mean",
    "favourable_of",
    "guess",
    "hinted",
    "json_schema",
    "narrow",
    "normalise_restrictions",
    "parse_json",
    "parse_yaml",
    "plain",
    "plainly_wanted",
    "question",
    "shown",
    "sorted_levels",
]
