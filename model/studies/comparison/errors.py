"""What can be wrong with a comparison that was asked for."""

from __future__ import annotations


class ComparisonError(ValueError):
    """Runs that cannot be found or compared; the message says what there is."""
