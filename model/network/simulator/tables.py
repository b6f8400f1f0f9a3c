"""All state of a running engine, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Tables(NamedTuple):
    """Everything the engine reads and writes; see :mod:`model.network.simulator.layout` for the columns."""

    op_i: np.ndarray
    op_f: np.ndarray
    branch_to: np.ndarray
    branch_p: np.ndarray
    dist_i: np.ndarray
    dist_f: np.ndarray
    dist_table: np.ndarray
    st_i: np.ndarray
    st_f: np.ndarray
    rates: np.ndarray
    costs: np.ndarray
    speeds: np.ndarray
    server: np.ndarray
    queue_head: np.ndarray
    queue_tail: np.ndarray
    lane_of: np.ndarray
    lane_i: np.ndarray
    lane_f: np.ndarray
    gr_i: np.ndarray
    gr_f: np.ndarray
    gr_stations: np.ndarray
    res_i: np.ndarray
    inst_i: np.ndarray
    cls_i: np.ndarray
    src_i: np.ndarray
    src_f: np.ndarray
    trace_time: np.ndarray
    trace_class: np.ndarray
    trace_work: np.ndarray
    trace_left: np.ndarray
    rng: np.ndarray
    control: np.ndarray
    freed: np.ndarray
    heap: np.ndarray
    clock: np.ndarray
    acc_v: np.ndarray
    acc_t: np.ndarray
    acc_q: np.ndarray
    acc_x: np.ndarray
    histogram: np.ndarray
    visit_histogram: np.ndarray
    parts: np.ndarray
    float_view: np.ndarray
    bits_view: np.ndarray
    # These grow with the number of transactions inside at once.
    cust_i: np.ndarray
    cust_f: np.ndarray
    cust_instance: np.ndarray
    cust_parts: np.ndarray
    times: np.ndarray
    owners: np.ndarray
    place: np.ndarray
    free: np.ndarray
    ready: np.ndarray
    lane_keys: np.ndarray
    lane_members: np.ndarray
