"""Machines as data: one TOML file per machine, every figure with its source, read by `model.hardware.machines`."""
