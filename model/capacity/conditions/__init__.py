"""Condition laws: what the studies measured at several levels of a condition, answered at other levels.

`rows` is what laws are fitted to, `fitting` fits them, `answering` answers, `validation` leaves levels out.
"""
