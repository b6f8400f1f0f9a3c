"""The lab: published measurements rendered as the records that a measurement would have left.

`model.lab.rendering` renders them.
"""

from model.lab.errors import LabError

__all__ = ["LabError"]
