"""A reader of SMF records by literal offsets, independent of the codec: what one writes with the manual at hand."""

import struct
from dataclasses import dataclass, field


@dataclass
class Sums:
    """Totals over the records of one system whose interval starts inside a window."""

    seconds: float = 0.0
    online_us: int = 0
    wait_us: int = 0
    engines: set = field(default_factory=set)
    ended: dict = field(default_factory=dict)
    elapsed_us: dict = field(default_factory=dict)
    class_cpu_s: dict = field(default_factory=dict)
    report_classes: set = field(default_factory=set)
    job_cpu_s: dict = field(default_factory=dict)
    jobs: set = field(default_factory=set)


def records(dump):
    """Records of a stream with RDWs."""
    at = 0
    while at < len(dump):
        length, segment = struct.unpack_from(">HH", dump, at)
        assert segment == 0 and length >= 18
        yield dump[at : at + length]
        at += length
    assert at == len(dump)


def triplet(record, position):
    """Start offsets of the sections of a triplet."""
    offset, length, count = struct.unpack_from(">IHH", record, position)
    assert not count or offset + length * count <= len(record)
    return [offset + i * length for i in range(count)]


def text(record, at, length):
    """EBCDIC text without trailing blanks."""
    return record[at : at + length].decode("cp037").rstrip()


def packed(record, at, length):
    """Packed decimal digits."""
    digits = record[at : at + length].hex()
    assert digits[-1] in "cf"
    return int(digits[:-1])


def hfp(record, at):
    """Hexadecimal floating point of eight bytes."""
    (word,) = struct.unpack_from(">Q", record, at)
    fraction, exponent = word & (2**56 - 1), (word >> 56) & 0x7F
    value = fraction / 2**56 * 16.0 ** (exponent - 64)
    return -value if word >> 63 else value


def interval_start(record, product):
    """Local date (yyddd) and time (hhmmss) of an RMF interval."""
    return packed(record, product + 14, 4), packed(record, product + 10, 4)


def add_up(dump, starts):
    """Sums over the intervals whose local start (yyddd, hhmmss) is in `starts`; SMF 30 by its interval start."""
    sums = Sums()
    clocks = set()
    for record in records(dump):
        kind = (record[5], struct.unpack_from(">H", record, 22)[0])
        if kind in ((70, 1), (72, 3)):
            (product,) = triplet(record, 28)
            if interval_start(record, product) not in starts:
                continue
            length = packed(record, product + 18, 4)
            seconds = length // 100_000 * 60 + length % 100_000 / 1000
            if kind == (70, 1):
                sums.seconds += seconds
                (end,) = struct.unpack_from(">Q", record, product + 52)
                clocks.add(end)
                add_cpu_activity(sums, record)
            else:
                add_class(sums, record)
    for record in records(dump):
        if record[5] == 30:
            (identification,) = triplet(record, 32)
            (end,) = struct.unpack_from(">Q", record, identification + 156)
            if end in clocks:
                add_job(sums, record, identification)
    return sums


def add_cpu_activity(sums, record):
    """SMF 70.1: wait time of the CPU sections, online time of the logical processor sections."""
    for at in triplet(record, 44):
        wait, address = struct.unpack_from(">QH", record, at)
        assert record[at + 15] == 0
        sums.wait_us += wait / 4096
        sums.engines.add(address)
    for at in triplet(record, 68):
        (online,) = struct.unpack_from(">Q", record, at + 40)
        assert struct.unpack_from(">H", record, at + 10) == (0xFFFF,)
        sums.online_us += online


def add_class(sums, record):
    """SMF 72.3: transactions, elapsed times and CPU of a class."""
    (control,) = triplet(record, 36)
    name = text(record, control + 120, 8)
    (adjustment,) = struct.unpack_from(">i", record, control + 172)
    cpu_coefficient, _, _, srb_coefficient = struct.unpack_from(">4I", record, control + 52)
    if record[control] & 0x80:
        sums.report_classes.add(name)
    for at in triplet(record, 60):
        per_second = 16_000_000 / adjustment
        cpu = hfp(record, at + 32) / (cpu_coefficient / 10_000) / per_second
        cpu += hfp(record, at + 56) / (srb_coefficient / 10_000) / per_second
        cpu += sum(hfp(record, at + offset) for offset in (152, 160, 168)) / 1e6
        (ended,) = struct.unpack_from(">I", record, at + 184)
        sums.class_cpu_s[name] = sums.class_cpu_s.get(name, 0.0) + cpu
        sums.ended[name] = sums.ended.get(name, 0) + ended
        sums.elapsed_us[name] = sums.elapsed_us.get(name, 0.0) + hfp(record, at + 720)


def add_job(sums, record, identification):
    """SMF 30: TCB, SRB and I/O interrupt time of an address space."""
    name = text(record, identification, 8)
    sums.jobs.add(name)
    for at in triplet(record, 56):
        tcb, srb = struct.unpack_from(">II", record, at + 4)
        (interrupt,) = struct.unpack_from(">I", record, at + 44)
        sums.job_cpu_s[name] = sums.job_cpu_s.get(name, 0.0) + (tcb + srb + interrupt) / 100
