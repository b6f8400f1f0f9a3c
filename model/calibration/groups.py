"""What a groups file makes of an LPAR's intervals: transactions of workloads, CPU of address-space groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Part of a count that transactions of service classes may leave unexplained.
UNEXPLAINED = 0.02
# Shares this near to none or all are none or all.
WHOLE = 0.005


@dataclass(frozen=True, eq=False)
class Groups:
    """Counts and CPU by interval (I,).

    ``ended`` has the transactions of each workload and of each transaction class with a name; ``cpu_s`` (I, 3) of each
    workload and address-space group its seconds on CPs, on zIIPs and, zIIP-eligible, on CPs; NaN where not recorded.
    """

    ended: Mapping[str, Array]
    cpu_s: Mapping[tuple[str, str], Array]

    def rows(self, kept: NDArray[np.bool_] | NDArray[np.int64]) -> Groups:
        """The intervals chosen."""
        return replace(
            self,
            ended={name: counts[kept] for name, counts in self.ended.items()},
            cpu_s={name: seconds[kept] for name, seconds in self.cpu_s.items()},
        )


def groups_of(transactions: pd.DataFrame, costs: pd.DataFrame, keys: pd.Index) -> Groups:
    """The groups of the intervals named by ``keys``.

    Args:
        transactions: rows of ``fct_transaction_cost`` of workloads, and of classes with a ``transaction_class``.
        costs: rows of ``fct_address_space_cost`` of address-space groups.
        keys: (I,) interval keys in order.
    """
    named = transactions[transactions["interval_key"].isin(keys)]
    name = named["transaction_class"].where(named["class_kind"] != "workload", named["workload"])
    counts = named.groupby(["interval_key", name.rename("name")])["transactions_ended"].sum().unstack("name")
    counts = counts.reindex(keys).fillna(0.0)
    columns = ["cp_s", "ziip_s", "ziip_on_cp_s"]
    own = costs[costs["interval_key"].isin(keys)].set_index("interval_key")
    return Groups(
        {str(label): counts[label].to_numpy(float) for label in counts},
        {
            (str(workload), str(group)): part[columns].reindex(keys).to_numpy(float)
            for (workload, group), part in own.groupby(["workload", "name"])
        },
    )


def shares(counted: Array, ended: Array) -> Array | None:
    """(C,) share of each class's transactions in a count (I,) of them; None where the classes do not explain it.

    Args:
        counted: (I,) transactions of a workload or transaction class.
        ended: (I, C) transactions of each class.
    """
    from scipy.optimize import lsq_linear

    whole = counted.sum()
    if whole <= 0 or not ended.any():
        return None
    scale = np.maximum(np.sqrt(counted), 1.0)
    found = np.asarray(lsq_linear(ended / scale[:, None], counted / scale, bounds=(0.0, 1.0)).x, float)
    found = np.where(found < WHOLE, 0.0, np.where(found > 1.0 - WHOLE, 1.0, found))
    return found if np.abs(counted - ended @ found).sum() <= UNEXPLAINED * whole else None
