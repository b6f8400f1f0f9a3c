"""Waiting times in closed form: pure functions, one subject a module, each with its reference.

``load`` is offered work in servers (arrival rate times mean service time), ``servers`` their number, which need not be
whole: between two whole numbers values are interpolated. All arguments broadcast.
"""
