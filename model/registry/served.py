"""The registered model as code: MLflow runs this file to load a version, whose parameters are the JSON bundle beside

it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel, PythonModelContext

from model.capacity import ask, bundle


class CapacityAnswers(PythonModel):
    """Answers rows of ``system_id`` and ``etr_tps`` with one row for each predicted metric."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read the parameters."""
        with open(context.artifacts["bundle"], encoding="utf-8") as stream:  # noqa: PTH123 - a path or URI text of MLflow's
            self.bundle = bundle.loads(stream.read(), context.artifacts["bundle"])

    def predict(
        self, context: PythonModelContext, model_input: pd.DataFrame, params: dict[str, Any] | None = None
    ) -> pd.DataFrame:
        """``system_id, etr_tps, metric, condition, value, lo, hi, unit``; limits that do not exist are NaN."""
        rows = []
        for system, rate in zip(model_input["system_id"], model_input["etr_tps"], strict=True):
            answer = ask.predict(self.bundle, str(system), {"etr_tps": float(rate)})
            rows += [{"system_id": system, "etr_tps": float(rate), **asdict(output)} for output in answer.outputs]
        frame = pd.DataFrame(rows, columns=["system_id", "etr_tps", "metric", "condition", "value", "lo", "hi", "unit"])
        return frame.astype({"value": float, "lo": float, "hi": float})


set_model(CapacityAnswers())
