"""A few actions that serve many people: what kinds of change help whom."""

from holdtrue.studies.group_actions._actions import Action, Change
from holdtrue.studies.group_actions._choose import Served, best_of, greedy
from holdtrue.studies.group_actions._group_actions import group_actions
from holdtrue.studies.group_actions._result import GroupActions
from holdtrue.studies.group_actions._trial import Trial

__all__ = ["Action", "Change", "GroupActions", "Served", "Trial", "best_of", "greedy", "group_actions"]
