"""Which reference systems can be rendered; known without loading what renders them."""

from model.lab.targets import why_not_rendered
from model.published import catalogue
from model.published.catalogue import System, targets_by_writer
from model.published.rules import ACTIVITY

SUBSYSTEMS = "subsystems"
"""The made-up night with records of subsystems, which is no reference system."""


def renderable() -> tuple[str, ...]:
    """Reference systems with at least one point that can be rendered, sorted."""
    return tuple(system_id for system_id in catalogue.systems() if has_content(catalogue.system(system_id)))


def has_content(system: System) -> bool:
    """Whether anything of a system can be rendered."""
    plan = system.lab
    return plan is not None and (
        any(why_not_rendered(system, point) is None for point in plan.points)
        or any(writer != ACTIVITY for _, _, writer in targets_by_writer(system))
    )
