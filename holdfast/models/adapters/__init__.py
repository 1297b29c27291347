"""Models made elsewhere, behind the one interface."""

from holdfast.models.adapters._black_box import BlackBox, BlackBoxModel

__all__ = ["BlackBox", "BlackBoxModel"]
