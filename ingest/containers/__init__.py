"""Containers of dumps: compressed and packed files, opened as streams of the bytes inside."""
