"""Measured speeds and studies; nothing here is imported by the product."""
