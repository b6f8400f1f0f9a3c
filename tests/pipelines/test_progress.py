"""What a command says while it works."""

import numba

from pipelines.progress import compiling


def test_compiling_is_said_once_and_running_what_is_compiled_is_not(capsys):
    with compiling("the solver"):
        compiled = [numba.njit(lambda x, by=by: x * by) for by in (2, 3)]
        assert [loop(4) for loop in compiled] == [8, 12]
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "compiling the solver" in said.err
    with compiling("the solver"):
        assert compiled[0](5) == 10
    assert capsys.readouterr().err == ""
