"""The calibrated system of the capacity model's tests, to be asked with studies beside it."""

from tests.model.capacity.conftest import bundle

__all__ = ["bundle"]
