"""The capacity model: an ensemble of calibrated networks, and every question that is an evaluation of it."""
