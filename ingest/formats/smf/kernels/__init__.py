"""Compiled loops that find the sections of SMF records."""
