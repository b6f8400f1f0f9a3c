"""RMF Postprocessor reports of rendered records, as XML: the CPU activity and workload activity RMF would have printed.

Every figure is worked out from the fields of the records by the arithmetic RMF documents, and rounded to the digits RMF
prints. It shares nothing with the marts, so that both can be set against each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any
from xml.sax.saxutils import escape

from model.lab.records.common import SIXTEENTHS_US_PER_S, Record, Row, Setting

TOD_UNITS_PER_S = 4096 * 10**6
UNIT_US = 1024
IO_UNIT_US = 128
COEFFICIENT = 10_000
FACTOR = 256
REPORT_CLASS = 0x80
TIMES = "Transaction Time (HHH.MM.SS.FFFFFF)"

Variables = Sequence[tuple[str, str]]


def rmf_xml(setting: Setting, records: Iterable[Record]) -> bytes:
    """The CPU report of every 70.1 and the workload activity report of all 72.3 records of an interval."""
    processors: list[str] = []
    classes: dict[tuple[Any, int, int], dict[tuple[bool, str], str]] = {}
    for record in records:
        if record.layout == "smf70_1":
            processors.append(_report(setting, record, "CPU", "CPU Activity Report", [_cpu(record)]))
        elif record.layout == "smf72_3":
            product = record.sections["product"][0]
            interval = (product["smf72dat"], product["smf72ist"], product["smf72int"])
            control = record.sections["control"][0]
            name = (bool(control["r723mscf"] & REPORT_CLASS), control["r723mcnm"])
            classes.setdefault(interval, {}).setdefault(name, _class(record))
    workloads = [
        _framed(setting, *interval, "WLMGL", "Workload Activity Report", list(sections.values()))
        for interval, sections in classes.items()
    ]
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<ddsml>\n<server><name>RMF-DDS-Server</name></server>\n'
    return (head + "\n".join(processors + workloads) + "\n</ddsml>\n").encode()


def _report(setting: Setting, record: Record, metric: str, title: str, segments: Sequence[str]) -> str:
    product = record.sections["product"][0]
    return _framed(setting, product["smf70dat"], product["smf70ist"], product["smf70int"], metric, title, segments)


def _framed(
    setting: Setting, day: Any, clock: int, length: int, metric: str, title: str, segments: Sequence[str]
) -> str:
    """A report on one interval of the system."""
    start = datetime(day.year, day.month, day.day, clock // 10_000, clock // 100 % 100, clock % 100)
    end = start + timedelta(seconds=_seconds(length))
    minutes, rest = divmod(length, 100_000)
    times = "".join(
        f'<{name} locale="en-us">{moment:%m/%d/%Y-%H.%M.%S}</{name}>'
        for name, moment in (("display-start", start), ("display-end", end))
    )
    return (
        f'<postprocessor><metric id="{metric}"><description>{title}</description><type>Interval</type></metric>'
        f"<resource><resname>{escape(setting.plan.smf_sid)}</resname><restype>SYSTEM</restype></resource>"
        f"<time-data>{times}"
        f'<report-interval unit="minutes">{minutes:02d}:{rest // 1000:02d}:{rest % 1000:03d}</report-interval>'
        f"</time-data>{''.join(segments)}</postprocessor>"
    )


def _cpu(record: Record) -> str:
    """The processors: LPAR busy is dispatch over online time, MVS busy what is not wait time."""
    control, logical = record.sections["control"][0], record.sections["logical_processor"]
    rows = []
    for cpu, core in zip(record.sections["cpu"], logical, strict=True):
        online = core["smf70ont"]
        wait = cpu["smf70wat"] * 10**6 / TOD_UNITS_PER_S
        busy = (core["smf70pdt"] / online, 1 - wait / online)
        seconds = _seconds(record.sections["product"][0]["smf70int"])
        rows.append(
            f"<row><col>{cpu['smf70cid']}</col><col>CP</col><col>{_fixed(100 * online / 1e6 / seconds)}</col>"
            f"<col>{_fixed(100 * busy[0])}</col><col>{_fixed(100 * busy[1])}</col><col>0.00</col></row>"
        )
    labels = ("CPU Number", "CPU Type", "Time% Online", "Time% LPAR Busy", "Time% MVS Busy", "Time% Parked")
    heads = "".join(f'<col type="{"T" if i < 2 else "N"}">{label}</col>' for i, label in enumerate(labels))
    described = _variables([("CPU", control["smf70cpc_type"]), ("H/W Model", control["smf70hwm"])])
    table = f"<table><column-headers>{heads}</column-headers>{''.join(rows)}</table>"
    return f"<segment><name>CPU Activity</name><part>{described}{table}</part></segment>"


def _class(record: Record) -> str:
    """The segment of a class: transactions, times, service and APPL%."""
    control, period = record.sections["control"][0], record.sections["period"][0]
    seconds = _seconds(record.sections["product"][0]["smf72int"])
    kind = "Report Class" if control["r723mscf"] & REPORT_CLASS else "Service Class"
    named = (("Policy", "r723mnsp"), ("Workload", "r723mwnm"), (kind, "r723mcnm"), ("Description", "r723mcde"))
    parts: list[tuple[str, Variables]] = [
        ("", [(label, control[field]) for label, field in named]),
        *_work(period, seconds),
        *_service(control, period, seconds),
    ]
    described = "".join(f"<part>{_named(name)}{_variables(values)}</part>" for name, values in parts)
    applied = _transaction_cpu(period, SIXTEENTHS_US_PER_S / control["r723madj"], seconds)
    return f"<segment><name>{kind} {escape(control['r723mcnm'])}</name>{described}{applied}</segment>"


def _work(period: Row, seconds: float) -> list[tuple[str, Variables]]:
    """Transactions of a class and their times."""
    ended = _of(period, "r723crcp")
    resident, active = (_of(period, name) * UNIT_US / 1e6 for name in ("r723ctrr", "r723ctat"))
    return [
        (
            "Transactions",
            [
                ("Average", _fixed(active / seconds)),
                ("MPL", _fixed(resident / seconds)),
                ("Ended", _fixed(ended, 0)),
                ("Ended/sec", _fixed(ended / seconds)),
                ("# of Swaps", _fixed(_of(period, "r723cswc"), 0)),
                ("Executed", _fixed(_of(period, "r723cncp"), 0)),
            ],
        ),
        (
            TIMES,
            [
                ("Actual", _clock(_of(period, "r723ctetx"), ended)),
                ("Execution", _clock(_of(period, "r723cxetx"), ended)),
                ("Queued", _clock(_of(period, "r723cqdt") * UNIT_US, ended)),
            ],
        ),
    ]


def _service(control: Row, period: Row, seconds: float) -> list[tuple[str, Variables]]:
    """Service units of a class, the CPU time they stand for, and APPL%."""
    units = {name: _of(period, f"r723c{name}") for name in ("ioc", "cpu", "mso", "srb")}
    total = sum(units.values())
    resident, active = (_of(period, name) * UNIT_US / 1e6 for name in ("r723ctrr", "r723ctat"))
    rate = SIXTEENTHS_US_PER_S / control["r723madj"]
    cpu_s = units["cpu"] / (control["r723mcpu"] / COEFFICIENT) / rate
    srb_s = units["srb"] / (control["r723msrb"] / COEFFICIENT) / rate
    engines = {name: _of(period, f"r723c{name}") / rate for name in ("sup", "suc", "ifa", "ifc")}
    faster = {"sup": control["r723nffs"] / FACTOR, "ifa": control["r723nffi"] / FACTOR}
    others = {name: _of(period, f"r723c{name}") / 1e6 for name in ("rct", "iit", "hst")}
    general = cpu_s + srb_s + sum(others.values()) - sum(engines[name] * faster[name] for name in faster)
    times = {"CPU": cpu_s, "SRB": srb_s, "RCT": others["rct"], "I/O Interrupt": others["iit"]}
    times |= {"Hiperspace": others["hst"], "zIIP": engines["sup"], "zAAP": engines["ifa"]}
    applied = {"CP": general, "zIIP on CP": engines["suc"], "zIIP": engines["sup"]}
    applied |= {"zAAP on CP": engines["ifc"], "zAAP": engines["ifa"]}
    return [
        (
            "Service",
            [
                *((name.upper(), _fixed(amount, 0)) for name, amount in units.items()),
                ("Total", _fixed(total, 0)),
                ("Per Second", _fixed(total / seconds, 0)),
                ("Absorption Rate", _fixed(total / resident if resident else 0, 0)),
                ("Transaction Service Rate", _fixed(total / active if active else 0, 0)),
            ],
        ),
        ("Service Time", [(label, _fixed(time, 3)) for label, time in times.items()]),
        ("Application Time %", [(label, _fixed(100 * time / seconds)) for label, time in applied.items()]),
    ]


def _transaction_cpu(period: Row, rate: float, seconds: float) -> str:
    """The table of CPU that transactions themselves were found to use."""
    heads = "".join(f"<col>{label}</col>" for label in ("Reporting Category", "CP"))
    rows = "".join(
        f"<row><col>{name}</col><col>{_fixed(100 * _of(period, field) / rate / seconds)}</col></row>"
        for name, field in (("Total", "r723tsucp"), ("Mobile", "r723msucp"))
    )
    table = f"<table><column-headers>{heads}</column-headers>{rows}</table>"
    return f"<part><name>Transaction Application Time %</name>{table}</part>"


def _of(row: Row | Mapping[str, Any], name: str) -> float:
    return float(row.get(name, 0) or 0)


def _seconds(length: int) -> float:
    """Seconds of a length written as the digits mmssttt."""
    minutes, rest = divmod(length, 100_000)
    return minutes * 60 + rest / 1000


def _named(name: str) -> str:
    return f"<name>{escape(name)}</name>" if name else ""


def _variables(values: Variables) -> str:
    shown = "".join(f"<var><name>{escape(name)}</name><value>{escape(text)}</value></var>" for name, text in values)
    return f"<var-list>{shown}</var-list>"


def _fixed(value: float, places: int = 2) -> str:
    return str(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def _clock(total_us: float, count: float) -> str:
    """A mean time as HHH.MM.SS.FFFFFF."""
    mean = int(Decimal(_fixed(total_us / count if count else 0, 0)))
    seconds, fraction = divmod(mean, 10**6)
    return f"{seconds // 3600:03d}.{seconds // 60 % 60:02d}.{seconds % 60:02d}.{fraction:06d}"
