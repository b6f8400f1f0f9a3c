"""The commands of `etalon`, by subject."""
