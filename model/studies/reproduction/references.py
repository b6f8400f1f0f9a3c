"""Which systems a comparison needs: those asked for, and those their derived figures follow from."""

from collections.abc import Iterable

from model.published import catalogue


def with_references(systems: Iterable[str]) -> list[str]:
    """The systems and all they refer to, each once, in the order they are met."""
    needed: list[str] = []
    waiting = list(systems)
    while waiting:
        name = waiting.pop(0)
        if name in needed:
            continue
        needed.append(name)
        plan = catalogue.system(name).lab
        if plan is not None:
            operands = [
                operand for rules in (plan.derived, plan.contradictions) for rule in rules for operand in rule.operands
            ]
            waiting += [operand.system for operand in operands if operand.system]
    return needed
