"""What can go wrong when a reference system is rendered."""


class LabError(ValueError):
    """A system cannot be rendered, or what was constructed misses a published figure; the message says which."""
