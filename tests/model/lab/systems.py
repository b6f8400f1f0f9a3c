"""Which reference systems have points of CPU and workload activity, rendered interval by interval."""

from model.lab.targets import renderable, why_not_rendered
from model.published import catalogue


def with_activity():
    """Renderable systems with at least one point whose CPU and workload activity is constructed."""
    return tuple(system_id for system_id in renderable() if _is_active(catalogue.system(system_id)))


def _is_active(system):
    return any(why_not_rendered(system, point) is None for point in system.lab.points)
