"""Capacity science: hardware, network, calibration, reference systems."""
