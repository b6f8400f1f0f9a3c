"""Dagster definitions and the etalon command line."""
