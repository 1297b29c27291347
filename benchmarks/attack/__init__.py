"""Attacks: what the package says, held against code that shares nothing with it."""
