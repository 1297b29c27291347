"""Recourse that holds: measured over real years."""
