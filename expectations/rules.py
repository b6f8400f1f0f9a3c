"""What sound data satisfy: each rule is one expectation on one column of one frame."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """An expectation on `column` of the frame `subject`, NULLs passing unless `kind` says otherwise.

    `kind` is `between` (inclusive, either end may be None), `in_set`, `not_null` or `unique`; `severity` is `critical`
    or `warning`. `metric` is the mart column it is about, as `mart.column`.
    """

    name: str
    subject: str
    column: str
    title: str
    advice: str
    severity: str
    kind: str = "between"
    low: float | None = None
    high: float | None = None
    values: tuple[object, ...] = ()
    metric: str = ""


#: Rounding of interval lengths and clocks: intervals this near to each other adjoin.
ADJOINING_S = 1.0
#: Printed and sampled figures may exceed a bound by this part without being wrong.
SLACK = 0.005
#: Figures of Etalon and RMF may differ by this, in percent, beyond the rounding of print.
RMF_EXCESS_PCT = 1.0

#: Of fewer transactions in an interval, CPU per transaction says nothing about their number.
FEWEST_COUNTED = 1000
#: The smallest mistake of a unit is one of 60: what is further apart than half of that is none of the load's.
MOST_TIMES_APART = 30

#: A mean response may be off the distribution by this, for WLM counts by a goal that may have changed since.
MOST_TIMES_OFF = 2

#: Where no more of the shared engines is busy, and there are several, work does not wait long to be dispatched.
MOST_BUSY_WITH_ROOM = 0.5
#: An offset from UTC is changed by quarters of an hour, and by no more than this at once; leap seconds are fewer.
LEAST_CLOCK_STEP_S, MOST_CLOCK_STEP_S = 900, 12_600

RULES: tuple[Rule, ...] = (
    Rule(
        "ledger_bytes_add_up",
        "ledger",
        "bytes_unaccounted",
        "Every byte of every file is decoded, skipped, quarantined or framing",
        "Ingest the file again; if the figures still differ, keep the file and report it: its framing is wrong.",
        "critical",
        low=0,
        high=0,
    ),
    Rule(
        "ledger_records_add_up",
        "ledger",
        "records_unaccounted",
        "Every record of every file is decoded, skipped or quarantined",
        "Ingest the file again; if the figures still differ, keep the file and report it.",
        "critical",
        low=0,
        high=0,
    ),
    Rule(
        "ledger_rows_are_there",
        "ledger_rows",
        "rows_missing",
        "The raw tables have exactly the rows counted in the ledger",
        "Rows were changed outside the ingest: ingest the file again.",
        "critical",
        low=0,
        high=0,
    ),
    Rule(
        "files_were_readable",
        "ledger",
        "status",
        "Every file was read",
        "See the file's message: it may be cut off or empty, no SMF or RMF data at all, or an RMF reply without data.",
        "warning",
        kind="in_set",
        values=("loaded",),
    ),
    Rule(
        "nothing_is_quarantined",
        "ledger",
        "quarantined",
        "No record is in quarantine",
        "`select * from meta.quarantine` shows reason, offset and bytes; a damaged transfer is the usual cause.",
        "warning",
        low=0,
        high=0,
    ),
    Rule(
        "raw_critical",
        "raw_critical",
        "violations",
        "Keys are present and unique, and records have their recorded type",
        "The file was not decoded by its layout: load it again; if the finding stays, report file and table.",
        "critical",
        low=0,
        high=0,
    ),
    Rule(
        "raw_range",
        "raw_range",
        "violations",
        "Raw values are within the range of their format and unit",
        "Invalid in its format: the writer's release may differ from the layout. Do not use the column.",
        "warning",
        low=0,
        high=0,
    ),
    Rule(
        "intervals_do_not_overlap",
        "interval_sequence",
        "overlap_s",
        "Intervals of one system and record type do not overlap",
        "Two recordings of the same time were loaded, and their work counts twice: remove one with `etalon forget "
        "FILE`.",
        "critical",
        high=ADJOINING_S,
    ),
    Rule(
        "intervals_have_no_holes",
        "interval_sequence",
        "hole_s",
        "Intervals of one system and record type follow each other without a gap",
        "Records are missing and no IPL is recorded in the gap: load the missing dump.",
        "warning",
        high=ADJOINING_S,
    ),
    Rule(
        "smf_lost_no_records",
        "lost_records",
        "lost_s",
        "SMF lost no records before the dump",
        "SMF's buffers were full or a filter was active (SMF 7): the records of that time cannot be recovered.",
        "warning",
        high=0,
    ),
    Rule(
        "files_do_not_overlap",
        "overlaps",
        "records_shared",
        "No two files have records in common",
        "Nothing counts twice: such records are kept in both files and counted in one. If the dumps were not meant to "
        "overlap, look where each begins and ends.",
        "warning",
        low=0,
        high=0,
    ),
    Rule(
        "nothing_is_held_back",
        "held_back",
        "records",
        "No records of a system were held back",
        "A critical expectation failed for them, so they are excluded. Data of the system that were published before "
        "stay. Load the corrected file, and remove this one with `etalon forget FILE`.",
        "warning",
        high=0,
    ),
    Rule(
        "records_are_not_duplicated",
        "duplicates",
        "copies",
        "No record occurs twice",
        "It counts once. It was written twice with different write times, or is twice in one dump.",
        "warning",
        high=1,
    ),
    Rule(
        "job_intervals_end_after_they_begin",
        "job_intervals",
        "backwards",
        "Intervals of address spaces (SMF 30) end after they begin",
        "Such a record is damaged and excluded from the marts: transfer the file again. `record` is the record_seq of "
        "the first one.",
        "warning",
        high=0,
    ),
    Rule(
        "busy_is_a_percentage",
        "utilization",
        "cpu_busy_pct",
        "Engines are busy between 0 and 100 %",
        "Wait, online or dispatch times contradict each other: do not use the interval, and check its 70.1 record.",
        "critical",
        low=0,
        high=100 * (1 + SLACK),
        metric="fct_interval_utilization.cpu_busy_pct",
    ),
    Rule(
        "lpar_busy_is_a_percentage",
        "utilization",
        "lpar_busy_pct",
        "LPAR busy is between 0 and 100 %",
        "Dispatch and online times contradict each other: check the 70.1 record of the interval.",
        "warning",
        low=0,
        high=100 * (1 + SLACK),
        metric="fct_interval_utilization.lpar_busy_pct",
    ),
    Rule(
        "waiting_engines_are_not_dispatched",
        "waits",
        "dispatched_waiting_pct",
        "Waiting CPs are not dispatched",
        "Wait and dispatch times contradict each other by more than LPAR management time: wait times are in another "
        "unit or counted twice. Do not use MVS busy, and check the 70.1 records of the day.",
        "warning",
        high=5,
        metric="fct_interval_utilization.mvs_busy_pct",
    ),
    Rule(
        "ready_engines_are_dispatched",
        "waits",
        "ready_with_room_pct",
        "CPs that do not wait are dispatched, as long as the machine has free engines and no cap is in force",
        "Wait times are too short for the dispatch times: they are in another unit, or lack processors. Do not use MVS "
        "busy, and check the 70.1 records of the day.",
        "warning",
        high=15,
        metric="fct_interval_utilization.mvs_busy_pct",
    ),
    Rule(
        "local_time_follows_its_offset",
        "clocks",
        "intervals_off",
        "Local time is UTC plus the recorded offset, except in an interval in which clocks are set",
        "The local clock of the system was set without its offset from UTC (CLOCKxx, SET CLOCK): UTC is right, and "
        "local times, by which days and hours are told, are not.",
        "warning",
        high=1,
    ),
    Rule(
        "cpu_and_workload_records_come_together",
        "pairing",
        "has_both",
        "Every interval has its 70.1 and its 72.3 records",
        "Without both there is no CPU per transaction: check that RMF gathers CPU and WKLD, and that both are dumped.",
        "warning",
        kind="in_set",
        values=(True,),
    ),
    Rule(
        "capture_ratio_is_a_ratio",
        "capture",
        "capture_ratio",
        "CPU of the service classes (72.3) does not exceed busy of the engines (70.1)",
        "The records do not belong together, or the service coefficients are wrong: check R723MADJ and the intervals.",
        "critical",
        low=0,
        high=1 + SLACK,
        metric="fct_point.capture_ratio",
    ),
    Rule(
        "capture_ratio_is_usual",
        "capture",
        "capture_ratio_when_busy",
        "Service classes account for at least half of the CPU of a busy system",
        "Much CPU belongs to no class. Check whether 72.3 records of some classes are missing.",
        "warning",
        low=0.5,
        metric="fct_point.capture_ratio",
    ),
    Rule(
        "address_spaces_are_within_busy",
        "address_spaces",
        "part_of_busy",
        "CPU of the address spaces (SMF 30) does not exceed busy of the engines over a day",
        "An address space has more CPU than there was: `select * from marts.fct_address_space_cost order by cp_s desc` "
        "shows which.",
        "warning",
        high=1 + SLACK,
        metric="fct_address_space_cost.cp_s",
    ),
    Rule(
        "transactions_fit_their_cpu",
        "counts",
        "times_apart",
        f"Transactions of a class are within a factor of {MOST_TIMES_APART} of what its CPU usually indicates",
        "Counts are missing, counts or CPU are in another unit, or a few transactions looped. Compare the interval "
        "with its neighbours in marts.fct_service_class before you use it.",
        "warning",
        high=MOST_TIMES_APART,
        metric="fct_service_class.transactions_ended",
    ),
    Rule(
        "responses_fit_their_distribution",
        "responses",
        "times_off",
        "Mean response times of a class agree with their distribution",
        "Response times are in another unit, or the goal changed within the interval: compare the interval with its "
        "neighbours in marts.fct_service_class before you use it.",
        "warning",
        high=MOST_TIMES_OFF,
        metric="fct_service_class.response_ms",
    ),
    Rule(
        "class_msu_are_within_lpar_msu",
        "msu",
        "class_share",
        "MSU of the service classes do not exceed the MSU of their LPAR",
        "The records do not belong together, or the two were rated differently: check SMF70CPA and the intervals.",
        "critical",
        high=1 + SLACK,
        metric="fct_service_class.cp_msu",
    ),
    Rule(
        "cost_is_within_the_total",
        "transactions",
        "left_over_s",
        "CPU of the address-space groups of all workloads stays within the busy time of the CPs",
        "A class or job is counted in two groups, or the groups name work of another system: check the groups file.",
        "warning",
        low=0,
        metric="fct_transaction_cost.service_cpu_us_per_tran",
    ),
    Rule(
        "responses_are_not_negative",
        "transactions",
        "response_ms",
        "Response times are not negative",
        "The elapsed time of the class overflowed or was not decoded: do not use it.",
        "critical",
        low=0,
        metric="fct_transaction_cost.response_ms",
    ),
    Rule(
        "figures_agree_with_rmf",
        "reconciliation",
        "excess_pct",
        "Figures computed from records agree with RMF reports of the same interval",
        "Records and report differ beyond what rounding explains: were both made of the same interval and system? "
        "`select * from marts.fct_rmf_reconciliation where excess_pct > 1` sets them side by side.",
        "warning",
        high=RMF_EXCESS_PCT,
        metric="fct_rmf_reconciliation.excess_pct",
    ),
    Rule(
        "runs_have_intervals",
        "runs",
        "covered_pct",
        "Measured points are covered by recorded intervals",
        "Compare start and end in the runs file, which are UTC, with the intervals in marts.dim_interval.",
        "warning",
        low=95,
        high=105,
    ),
    Rule(
        "groups_match_something",
        "groups",
        "matches",
        "Every pattern of the groups file matches a class or a job",
        "Compare kind and pattern with `select distinct class_kind, class_name from marts.fct_transaction_cost`, those "
        "of jobs with job_name in marts.fct_address_space_cost; % is the wildcard. A transaction_class row takes "
        "report and service classes.",
        "warning",
        low=1,
    ),
    Rule(
        "transaction_classes_are_named",
        "transaction_classes",
        "transaction_classes",
        "A groups file names the transaction classes of every measured system",
        "No groups file names a transaction class for the system: its rates and costs per transaction are empty; see "
        "docs/loading.md.",
        "warning",
        low=1,
        metric="fct_point.etr_tps",
    ),
    Rule(
        "metrics_lie_in_their_domain",
        "metrics",
        "outside",
        "Values of metrics are within the limits of the registry",
        "The components of the metric contradict each other or were decoded wrongly: examine its records. Formula and "
        "limits are in `marts.dim_metric` (measured points) and docs/data-dictionary/metrics.md (all).",
        "warning",
        low=0,
        high=0,
    ),
    Rule(
        "points_are_unique",
        "points",
        "point_key",
        "A measured point appears once",
        "The marts were built from a damaged state: build them again.",
        "critical",
        kind="unique",
    ),
    Rule(
        "measured_points_have_a_rate",
        "points",
        "etr_tps",
        "Every measured point of a workload has transactions",
        "The transaction classes of the groups file ended no transaction: check the pattern and the 72.3 records.",
        "warning",
        low=1e-9,
        metric="fct_point.etr_tps",
    ),
)
