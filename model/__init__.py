"""Capacity science: hardware, network, solvers, calibration, reference systems."""
