"""The lab: published measurements rendered as the records that a measurement would have left."""

from model.lab.errors import LabError
from model.lab.rendering import DEFAULT_SEED, render, renderable

__all__ = ["DEFAULT_SEED", "LabError", "render", "renderable"]
