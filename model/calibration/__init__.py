"""Demand estimation: from measured points to usage laws, response laws and their uncertainty.

Holds the statistics only. Reading marts, validating and storing the result are elsewhere.
"""
