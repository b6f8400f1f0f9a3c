"""Systems with known answers, which the solvers and the simulator are checked against."""
