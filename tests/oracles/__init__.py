"""Systems with known answers, which the exact methods and the simulator are checked against."""
