"""The machine under it all: CPU by product (89.1), hardware counters (113), an IPL (0) and lost records (7)."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from model.lab.records.common import Record
from model.lab.subsystems import batch, messages, requests
from model.lab.subsystems.night import BATCH_HOUR, HOURS, QUOTES_PER_HOUR, Night
from model.lab.subsystems.recording import Recorder

PRODUCTS = ("MQ", "Db2", "Liberty", "WebSphere")
OWNER, VERSION = "IBM CORP", "V9"
CPS, ZIIP, CP_CLASS, ZIIP_CLASS = (0, 1), 2, 0, 4
MACHINE_TYPE, CYCLES_PER_US = "2964", 5_000
CYCLES_PER_INSTRUCTION, LOST_IN_CACHES = 2, 1
L1_MISSES_PCT = {"instruction": 1, "data": 3}
SOURCES_PCT = {144: 90, 146: 7, 149: 1, 158: 2}
"""Of the first-level misses, by the number of the extended counter: other caches near and far, and memory."""
BASIC, EXTENDED, FIRST_EXTENDED, EXTENDED_COUNTERS = 1, 4, 128, 52
GROWTH_FROM_HOUR = 4
"""From here on the counters are also written as differences, which the marts take in place of the others."""
RECORDS_LOST, LOST_IN_HOUR = 12, 5


def records(make: Recorder, night: Night) -> Iterator[Record]:
    """The IPL before the night, usage and counters of every hour, and the records lost in one."""
    ipl = night.start - timedelta(hours=6)
    yield make.record("smf0", ipl, {"os_level": "z/OS 2.5", "system_name": "SUBS"})
    yield _counters(make, night, 0)
    for hour in range(HOURS):
        start, end = night.hour(hour), night.hour(hour + 1)
        product = {
            "interval_start_clock_us": start, "interval_start_date": start, "interval_end_clock_us": end,
            "interval_end_date": end,
        }  # fmt: skip
        usage = [
            {
                "product_owner": OWNER, "product_name": name, "product_version": VERSION,
                "tcb_us": cp_us(night, name, hour),
                "offloaded_us": ziip_us(night, name, hour),
            }
            for name in PRODUCTS
        ]  # fmt: skip
        yield make.record("smf89_1", end, product=product, system={"system_name": "SUBS"}, usage=usage)
        yield _counters(make, night, hour + 1)
        if hour >= GROWTH_FROM_HOUR:
            yield _growth(make, night, hour)
    lost = night.hour(LOST_IN_HOUR)
    head = {"records_lost": RECORDS_LOST, "loss_start_clock_us": lost, "loss_start_date": lost}
    yield make.record("smf7", lost + timedelta(seconds=2), head)


def cp_us(night: Night, product: str, hour: int) -> int:
    """CPU of a product on general-purpose processors in an hour."""
    quotes = night.within(hour)
    if product == "MQ":
        return messages.cpu_us(QUOTES_PER_HOUR[hour])
    if product == "Db2":
        return int(night.db2_cpu_us[quotes].sum())
    if product == "WebSphere":
        return int((night.confirm_cpu_us - night.confirm_ziip_us)[_confirmed(quotes)].sum())
    return int((night.web_cpu_us - night.web_ziip_us)[quotes].sum())


def ziip_us(night: Night, product: str, hour: int) -> int:
    """CPU of a product on zIIPs in an hour: the web servers have some."""
    quotes = night.within(hour)
    if product == "WebSphere":
        return int(night.confirm_ziip_us[_confirmed(quotes)].sum())
    return int(night.web_ziip_us[quotes].sum()) if product == "Liberty" else 0


def _confirmed(quotes: slice) -> slice:
    every = requests.CONFIRM_EVERY
    return slice(-(-quotes.start // every) * every, quotes.stop, every)


def busy_us(night: Night, processor: int, hours: int) -> int:
    """What a processor was busy in the night's first hours; the general-purpose ones share evenly."""
    if processor == ZIIP:
        return sum(ziip_us(night, name, hour) for hour in range(hours) for name in PRODUCTS)
    used = sum(cp_us(night, name, hour) for hour in range(hours) for name in PRODUCTS)
    return (used + (batch.CPU_US if hours > BATCH_HOUR else 0)) // len(CPS)


def _counters(make: Recorder, night: Night, hours: int) -> Record:
    """The counters of all processors since the night began."""
    end = night.hour(hours)
    data, sets, counters = [], [], []
    for place, processor in enumerate((*CPS, ZIIP)):
        values = _values(busy_us(night, processor, hours))
        data.append(
            {
                "run_start_utc": night.start, "collected_utc": end, "processor_number": processor,
                "processor_number_2byte": processor, "machine_type": MACHINE_TYPE, "cycles_per_us": CYCLES_PER_US,
                "processor_class": ZIIP_CLASS if processor == ZIIP else CP_CLASS,
            }
        )  # fmt: skip
        sets += [
            {"parent_seq": place, "set_type": BASIC, "set_counters": len(values) - EXTENDED_COUNTERS},
            {"parent_seq": place, "set_type": EXTENDED, "set_counters": EXTENDED_COUNTERS},
        ]
        counters += [{"parent_seq": place, "counter_value": value} for value in values]
    sections: dict[str, Any] = {"data": data, "counter_set": sets, "counter": counters}
    return make.record("smf113_2", end, identification={"job_name": "HIS"}, **sections)


def _growth(make: Recorder, night: Night, hour: int) -> Record:
    """What the counters of all processors grew by in an hour: the basic ones have eight bytes, the extended four."""
    data, sets, counters = [], [], []
    for place, processor in enumerate((*CPS, ZIIP)):
        before, after = (_values(busy_us(night, processor, hours)) for hours in (hour, hour + 1))
        grown = [late - early for early, late in zip(before, after, strict=True)]
        data.append(
            {
                "run_start_utc": night.start, "collected_utc": night.hour(hour + 1), "processor_number": processor,
                "machine_type": MACHINE_TYPE, "cycles_per_us": CYCLES_PER_US,
                "processor_class": ZIIP_CLASS if processor == ZIIP else CP_CLASS,
            }
        )  # fmt: skip
        basic = len(grown) - EXTENDED_COUNTERS
        for nth, (kind, values) in enumerate(((BASIC, grown[:basic]), (EXTENDED, grown[basic:]))):
            sets.append({"parent_seq": place, "set_type": kind})
            counters += [{"parent_seq": 2 * place + nth, **_words(value, kind == BASIC)} for value in values]
    sections: dict[str, Any] = {"data": data, "counter_set": sets, "counter": counters}
    who = {"job_name": "HIS", "interval_start_utc": night.hour(hour), "interval_end_utc": night.hour(hour + 1)}
    return make.record("smf113_1", night.hour(hour + 1), identification=who, **sections)


def _words(value: int, is_long: bool) -> dict[str, int | None]:
    if is_long:
        return {"first_word": value >> 32, "second_word": value & 0xFFFFFFFF}
    return {"first_word": value, "second_word": None}


def _values(busy_us: int) -> list[int]:
    """The basic counters, then the extended ones, after so much busy time."""
    cycles = busy_us * CYCLES_PER_US
    instructions = cycles // CYCLES_PER_INSTRUCTION
    code, data = (instructions * share // 100 for share in L1_MISSES_PCT.values())
    lost = instructions * LOST_IN_CACHES // 2
    extended = [(code + data) * SOURCES_PCT.get(FIRST_EXTENDED + n, 0) // 100 for n in range(EXTENDED_COUNTERS)]
    return [cycles, instructions, code, lost, data, lost, *extended]
