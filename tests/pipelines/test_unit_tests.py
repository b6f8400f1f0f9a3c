"""`make unit` names what it needs when the model is missing or unknown."""

import pytest

from pipelines import unit_tests


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "name one model"), (["fct_service_clas"], "unknown model 'fct_service_clas'; models include")],
)
def test_a_model_that_does_not_exist_is_refused(capsys, arguments, message):
    assert unit_tests.main(arguments) == 2
    assert message in capsys.readouterr().err
