"""Systems whose records are written by hand, so that every metric of theirs is known."""

from __future__ import annotations

from datetime import timedelta

from tests.marts.raw_records import RawWarehouse, utc

IMS_START = utc("2018-01-01T17:00:00")
CICS_START = utc("2015-12-01T09:00:00")
PAIR_START = utc("2020-05-01T08:00:00")
SHARED_START = utc("2021-05-01T08:00:00")
COPIES_START = utc("2022-05-01T08:00:00")
LOG_START = utc("2023-05-01T08:00:00")
#: Records of intervals, one of each kind that marts read besides those of CPU and workloads.
INTERVAL_RECORDS = ("smf71", "smf73", "smf74_1", "smf74_4", "smf74_5", "smf75", "smf77", "smf78_2", "smf88")
#: How the intervals of a point differ from their mean: unequal, so that a mean of ratios would not be a ratio of sums.
SWING = (0.98, 1.03, 0.99, 1.01, 0.99)
BUSY_SWING = (0.99, 1.02, 1.0, 1.0, 0.99)


def ims_point(raw: RawWarehouse, sid: str, etr: float, busy: float, group_us: dict[str, float]) -> None:
    """Five two-minute intervals of IMS on four dedicated engines; group CPU comes from 72.3 and, rounded, from 30."""
    system = f"ims-{sid.lower()}"
    raw.run(system, sid, "1", f"machine={sid.lower()}", IMS_START, IMS_START + timedelta(minutes=10))
    raw.group(system, sid, "transaction_class", "RTRAN", "ims", None)
    for group in group_us:
        raw.group(system, sid, "report_class", f"R{group[:7].upper()}", "ims", group)
        raw.group(system, sid, "job_name", f"{group[:7].upper()}%", "ims", group)
    for index, swing in enumerate(SWING):
        start = IMS_START + timedelta(minutes=2 * index)
        ended = round(etr * 120 * swing)
        raw.cpu(sid, start, 120, {0: (4, busy * BUSY_SWING[index])})
        raw.wlm_class(sid, start, 120, "RTRAN", ended=ended, response_ms=11.275)
        for group, us in group_us.items():
            cpu_s = us * 1e-6 * ended
            raw.wlm_class(sid, start, 120, f"R{group[:7].upper()}", cpu_s=cpu_s)
            raw.job(sid, f"{group[:7].upper()}1", start, 120, tcb_s=cpu_s, srb_s=0)
        raw.wlm_class(sid, start, 120, "ALLWORK", report=False, cpu_s=sum(group_us.values()) * 1e-6 * ended)
    # The second interval was dumped twice.
    second = IMS_START + timedelta(minutes=2)
    raw.cpu(sid, second, 120, {0: (4, busy * BUSY_SWING[1])})
    raw.wlm_class(sid, second, 120, "RTRAN", ended=round(etr * 120 * SWING[1]), response_ms=11.275)


def cics_points(raw: RawWarehouse) -> None:
    """Two points of CICS with LU2 and HTTP work, regions known by service class."""
    for kind, pattern, group in (
        ("transaction_class", "SCALHTTP", "http"),
        ("transaction_class", "SCAL3270", "lu2"),
        ("report_class", "CICSTORS", "tor"),
        ("report_class", "CICSAORS", "aor"),
        ("report_class", "CICSFORS", "for"),
    ):
        raw.group("cics", "CICS", kind, pattern, "cics", group)
    for point, (http, lu2, tor, aor, for_) in {
        "1": (33_512.0, 5_155.05, 34.99, 310.84, 14.90),
        "2": (50_090.6, 7_706.21, 57.15, 439.70, 22.38),
    }.items():
        first = CICS_START + timedelta(hours=int(point))
        raw.run("cics", "CICS", point, f"point={point}", first, first + timedelta(minutes=25))
        for index, swing in enumerate(SWING):
            start = first + timedelta(minutes=5 * index)
            raw.cpu("CICS", start, 300, {0: (18, (tor + aor + for_) / 1800 / 0.9)})
            raw.wlm_class("CICS", start, 300, "SCALHTTP", ended=round(http * 300 * swing))
            raw.wlm_class("CICS", start, 300, "SCAL3270", ended=round(lu2 * 300 * swing))
            for name, pct in (("CICSTORS", tor), ("CICSAORS", aor), ("CICSFORS", for_)):
                raw.wlm_class("CICS", start, 300, name, cpu_s=pct * 3 * swing)


def pair_of_lpars(raw: RawWarehouse) -> None:
    """Two LPARs of one data-sharing system, measured together."""
    raw.group("pair", None, "transaction_class", "RTRAN", "ims", None)
    raw.group("pair", None, "job_name", "IMSC%", "ims", "ims")
    for sid, etr, busy in (("LPA", 1_000, 0.5), ("LPB", 2_000, 0.7)):
        raw.run("pair", sid, "1", "", PAIR_START, PAIR_START + timedelta(minutes=4))
        for index in range(2):
            start = PAIR_START + timedelta(minutes=2 * index)
            raw.cpu(sid, start, 120, {0: (4, busy)})
            raw.wlm_class(sid, start, 120, "RTRAN", ended=etr * 120)
            raw.job(sid, "IMSCTL", start, 120, tcb_s=6, srb_s=3)


def shared_engines(raw: RawWarehouse) -> None:
    """A partition with shared engines and a zIIP, no runs and no groups."""
    for index in range(2):
        start = SHARED_START + timedelta(minutes=15 * index)
        raw.cpu("SHRD", start, 900, {0: (2, 0.4), 2: (1, 0.2)}, dedicated=False)
        work = {"ended": 9_000, "cpu_s": 450, "ziip_s": 90, "response_ms": 5, "goal_ms": 10}
        raw.wlm_class("SHRD", start, 900, "ONLINE", report=False, **work)


def written_once_and_twice(raw: RawWarehouse) -> None:
    """Two systems with the same records; those of the second were written a second time."""
    for sid in ("ONCE", "TWIC"):
        raw.run(sid.lower(), sid, "1", "", COPIES_START, COPIES_START + timedelta(minutes=30))
        raw.group(sid.lower(), sid, "transaction_class", "RTRAN", "ims", None)
        raw.group(sid.lower(), sid, "job_name", "IMSC%", "ims", "ims")
        for index in range(2):
            start = COPIES_START + timedelta(minutes=15 * index)
            raw.cpu(sid, start, 900, {0: (4, 0.5)})
            raw.wlm_class(sid, start, 900, "RTRAN", ended=9_000, cpu_s=450, response_ms=5)
            raw.job(sid, "IMSCTL", start, 900, tcb_s=6, srb_s=3)
            for layout in INTERVAL_RECORDS:
                raw.one_of_each_section(layout, sid, start, 900)
    raw.write_again("TWIC")


def ims_log(raw: RawWarehouse) -> None:
    """A log of two regions: 40 messages a minute apart wait 2 ms, are worked on for 5 or 9 ms and leave 1 ms later."""
    number = 0
    for index in range(40):
        arrival = LOG_START + timedelta(minutes=index)
        code, region, work_us = (("PART", 7, 5_000), ("ORDER", 8, 9_000))[index % 2]
        named = {"transaction_code": code, "pst_number": region}
        message = {"unit_of_work": f"U{index}"}
        done = {"recovery_token": f"R{index}", "program_name": code, "cpu_us": work_us / 10, **named}
        for event, after_us, values in (
            ("arrival", 0, message),
            ("enqueue", 100, message),
            ("get", 2_100, {**message, **named}),
            ("output", 3_100, message),
            ("account", 2_100 + work_us, done),
            ("dequeue", 3_100 + work_us, message),
        ):
            number += 1
            keys = {"file_id": 1, "record_seq": number, "section_seq": 0, "log_seq": number}
            moment = arrival + timedelta(microseconds=after_us)
            raw.insert("ims_log_event", **keys, event=event, event_utc=moment, **values)
