"""The model registry: versions of the calibrated model, their evidence, and the champion. The only room that knows

MLflow.
"""

from model.registry.store import (
    MODEL_NAME,
    ModelVersion,
    NoChampionError,
    NoVersionError,
    RegistryDamagedError,
    export_champion,
    load_champion,
    make_champion,
    register,
    require_reachable,
)
from model.registry.versions import export_versions

__all__ = [
    "MODEL_NAME",
    "ModelVersion",
    "NoChampionError",
    "NoVersionError",
    "RegistryDamagedError",
    "export_champion",
    "export_versions",
    "load_champion",
    "make_champion",
    "register",
    "require_reachable",
]
