"""Printed output: lines, tables below headings, and the document they make, whatever printed it."""
