"""How well the model predicts what it has not seen: leave-one-rate-out tables, the gate for champions, plots."""

from model.validation.holdout import Validation, error_table, validate

__all__ = ["Validation", "error_table", "validate"]
