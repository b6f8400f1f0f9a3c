"""Compiled loops over bytes, without any knowledge of layouts."""
