"""Data-quality suites and the data-quality site."""
