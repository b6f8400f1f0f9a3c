"""Compiled loops over RMF reports in XML."""
