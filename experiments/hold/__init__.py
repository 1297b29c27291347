"""Recourse that holds, beside what else there is: the same people, unseen judges, every kind of model."""
