"""Bodies of what the service reads for the page: histories, classes, files and findings, as in ``/openapi.json``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class LastDay(BaseModel):
    """The last 24 recorded hours beside the same a week before."""

    last_day: str = Field(description="date of the last interval")
    mean_busy_pct: float | None = Field(description="mean busy of the CPs in the last 24 hours")
    peak_busy_pct: float | None = Field(description="busiest interval of the last 24 hours")
    week_before_mean_busy_pct: float | None
    week_before_peak_busy_pct: float | None
    highest_busy_pct: float | None = Field(description="busiest interval ever recorded")
    highest_at: str
    r4ha_msu: float | None = Field(description="highest rolling four-hour average of the last 24 hours, MSU")
    highest_msu: float | None = Field(description="highest MSU of an interval ever recorded")
    highest_msu_at: str | None
    highest_r4ha_msu: float | None = Field(description="highest rolling four-hour average ever recorded, MSU")
    highest_r4ha_at: str | None


class MachineOverview(LastDay):
    """A machine with all its LPARs."""

    machine: str
    machine_name: str
    cps: float | None = Field(description="physical CPs")
    lpars: int = Field(
        description="LPARs that shared its CPs in the last 24 hours, including those without records of their own"
    )


class SystemOverview(LastDay):
    """An LPAR, or LPARs measured together."""

    system: str
    machine: str
    machine_name: str
    lpars: list[str]
    cps: int | None
    ziips: int | None
    capture_ratio: float | None = Field(description="of the last seven days; null without class records")
    first_start_local: str
    last_start_local: str


class ClassMsu(BaseModel):
    """The MSU of a service class over the last seven recorded days."""

    system: str
    class_name: str
    workload: str
    msu: float | None = Field(description="mean")
    peak_msu: float | None = Field(description="highest interval")


class LastNight(BaseModel):
    """What became of the last night."""

    day: str = Field(description="day of the records")
    started: str = Field(description="UTC")
    ended: str | None = Field(description="UTC; null while it runs")
    verdict: str
    files: int
    records: int
    errors: list[str]
    page: str = Field(description="address of its page")


class Overview(BaseModel):
    """Every machine and system with a history in the published snapshot."""

    published_at: str | None
    night: LastNight | None = Field(default=None, description="null before the first nightly job")
    machines: list[MachineOverview]
    systems: list[SystemOverview]
    classes: list[ClassMsu] = Field(description="service classes by MSU, the highest first")


class NamedShift(BaseModel):
    """A shift of the calendar."""

    name: str
    words: str = Field(description="days and hours of the shift, local time")


class Shifts(BaseModel):
    """The shifts and holidays of the installation."""

    shifts: list[NamedShift]
    holidays: list[str]


class Column(BaseModel):
    """One series; null where nothing was recorded."""

    kind: str
    name: str
    unit: str
    values: list[float | None]


class History(BaseModel):
    """Engines in use, capacity and MSU of a system over local time."""

    system: str
    every: str = Field(description="length of one value: interval, hour or day")
    start_local: list[str]
    columns: list[Column]


class CpcHistory(BaseModel):
    """Engines dispatched, MSU and R4HA of a CPC over local time, by LPAR and capacity group, with their limits."""

    cpc: str
    every: str = Field(description="length of one value: interval, hour or day")
    start_local: list[str]
    columns: list[Column]


class Peak(BaseModel):
    """The highest recorded interval: engines of a pool, MSU, or R4HA, and what there is of it in all."""

    kind: str = Field(description="cp, ziip, msu or r4ha_msu")
    unit: str
    value: float
    at_local: str
    capacity: float | None = Field(description="physical engines, or the MSU of all physical CPs; null if not recorded")


class CpcLpar(BaseModel):
    """An LPAR of a CPC, or PHYSICAL (PR/SM): its last definition, and its use over the last seven days."""

    lpar: str
    system: str | None = Field(description="its system; null for an LPAR without records of its own")
    cps: float | None = Field(description="logical CPs")
    weight: float | None
    share_pct: float | None = Field(description="weight in percent of all weights")
    share_engines: float | None = Field(description="share by weight of the shared physical CPs")
    is_dedicated: bool | None
    is_capped: bool | None = Field(description="whether initial capping limits the LPAR to its share")
    cap_engines: float | None = Field(description="absolute cap")
    group_cap_engines: float | None = Field(description="absolute cap of the LPAR group")
    defined_capacity_msu: float | None
    capacity_group: str | None
    capacity_group_limit_msu: float | None
    cps_used: float | None = Field(description="mean number of busy physical CPs")
    peak_cps_used: float | None
    peak_at: str | None
    ziips: float | None = Field(description="logical zIIPs")
    ziips_used: float | None
    capped_pct: float | None = Field(description="highest share of an interval in which capping limited the LPAR")
    r4ha_msu: float | None = Field(description="highest rolling four-hour average; null without records of the LPAR")


class CpcSummary(BaseModel):
    """A CPC of which intervals are recorded."""

    cpc: str = Field(description="its identifier: the serial number, or the LPAR's SMF identifier without one")
    name: str = Field(description="its name for readers: type, capacity model and the end of the serial number")
    systems: list[str] = Field(description="its systems with records of their own")
    first_start_local: str
    last_start_local: str


class Cpcs(BaseModel):
    """The CPCs, by name."""

    cpcs: list[CpcSummary]


class Cpc(CpcSummary):
    """A CPC: its recorded peaks, and every LPAR that shared it in the last 24 hours."""

    msu_per_engine: float | None
    peaks: list[Peak]
    lpars: list[CpcLpar]


class ClassHistory(History):
    """Rate, cost and response of a service class over local time."""

    class_name: str


class ClassRow(BaseModel):
    """A service class over the last seven recorded days, and how it changed from the seven before."""

    class_name: str
    workload: str
    importance: int | None
    goal_kind: str | None
    goal_ms: float | None
    rate_tps: float | None
    rate_tps_change_pct: float | None
    cpu_us_per_tran: float | None
    cpu_us_per_tran_change_pct: float | None
    engines: float | None
    response_ms: float | None
    response_ms_change_pct: float | None
    msu: float | None = Field(description="mean MSU of the CP time")
    performance_index: float | None = Field(description="mean over intervals of the worst period")
    missed_pct: float | None = Field(description="share of intervals with a performance index above 1, percent")
    ziip_engines: float | None
    ziip_on_cp_engines: float | None = Field(description="zIIP-eligible work that ran on CPs")


class WorkloadRow(BaseModel):
    """A workload over the last seven recorded days: its service classes together, those of its regions among them."""

    workload: str
    msu: float | None
    engines: float
    rate_tps: float
    cpu_us_per_tran: float | None = Field(description="general CPU per transaction, that of its regions included")
    ziip_on_cp_engines: float
    cost_per_1000: float | None = Field(description="cost of the CPU of 1,000 transactions; null without a price")
    ziip_on_cp_cost_per_hour: float | None = Field(description="cost of the overflow of zIIPs; null without a price")


class Classes(BaseModel):
    """The service classes of a system, those that use most first."""

    system: str
    currency: str = Field(description="currency of the prices; empty where the installation gives none")
    workloads: list[WorkloadRow]
    capture_ratio: float | None = Field(description="of the last seven days; null without class records")
    classes: list[ClassRow]


class Record(BaseModel):
    """Records of one type of an interval."""

    file: str
    record_type: str
    records: int
    first_record: int = Field(description="ordinal of the first record in the file, from 0")


class Records(BaseModel):
    """The records behind an interval."""

    system: str
    interval_start_local: str
    records: list[Record]


class Fitted(BaseModel):
    """What the model says of each recorded interval, beside what was measured."""

    system: str
    start_local: list[str]
    held_out: list[bool] = Field(description="whether validation predicted the interval's day from earlier days")
    rate_tps: list[float]
    measured_busy_pct: list[float | None]
    predicted_busy_pct: list[float | None]
    lo: list[float | None]
    hi: list[float | None]


class Change(BaseModel):
    """A measured metric in two periods, with the 90 % interval of its change from the scatter between days."""

    metric: str
    class_name: str
    unit: str
    a: float
    b: float
    change_pct: float
    lo_pct: float | None
    hi_pct: float | None
    significant: bool | None = Field(description="whether the interval excludes no change; null with too few days")


class Periods(BaseModel):
    """Two periods of a system side by side."""

    system: str
    a_from: str
    a_to: str
    b_from: str
    b_to: str
    changes: list[Change]


class Quality(BaseModel):
    """The verdict of the last check of the data; no path of the machine is in it."""

    verdict: str | None
    checked_at: str | None
    counts: dict[str, int]
    problems: list[dict[str, Any]]


class Gap(BaseModel):
    """A time without records, or without those of one kind, inside a history."""

    system: str
    from_local: str
    to_local: str
    hours: float
    records: str = Field(description="all, some, or the missing kind of records")
    ipl_local: str | None
    cause: str


class Files(BaseModel):
    """What was loaded, and where histories have holes."""

    files: list[dict[str, Any]]
    days: dict[str, dict[str, float]] = Field(description="hours recorded, by system and day")
    gaps: list[Gap]
