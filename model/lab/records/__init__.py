"""Record types: one module for each, with the columns of its sections for studies, printed figures and twins alike.

Functions that make a section take one value, or an array of one for each record. Studies write rows
(:class:`model.lab.records.common.Record`), twins columns of many records (:mod:`model.lab.records.tables`).
"""
