"""Recourse heads: the generator that writes recourse, those who judge it in training, and what attacks it."""
