"""I/O by data set (42.6), volume (74.1), its cache (74.5) and channel path (73); page data sets (75), storage (71)."""

from collections.abc import Iterator
from typing import Any

from model.lab.records.common import Record
from model.lab.subsystems.night import BATCH_HOUR, CONNECT_US, DATA_SETS, HOURS, PENDING_US, DataSet, Night
from model.lab.subsystems.recording import Recorder, Row

INTERVAL_S = 3_600
PAGE_DATA_SET, SLOTS, SLOTS_USED, SLOTS_USED_MAX = "PAGE.SUBS.LOCAL1", 200_000, 25_000, 30_000
PAGES, PAGING_SAMPLES = 7_200, 36
FRAMES, FRAMES_FIXED, FRAMES_AVAILABLE, FRAMES_AVAILABLE_BATCH = 1_000_000, 60_000, 250_000, 40_000
FRAMES_BELOW_MEAN = 10_000
PAGE_INS_BATCH, BLOCK_PAGE_INS_BATCH, UIC_S, UIC_BATCH_S = 5_400, 1_800, 65_535, 900
"""The batch job takes frames: in its hour fewer are available, pages come in, and the unreferenced interval falls."""
CONTENTIONS, CONTENTION_US = 3, 1_024_000
DISK_CHANNEL, DISK_CHANNEL_TYPE, WORK_UNITS_PER_IO, WORK_UNITS_MAX_PER_S, BYTES_PER_IO = 0x40, "FC_S", 40, 400, 4_096
OTHERS = 2
"""Other LPARs do so much I/O over the same channel path for each of this one's."""
NETWORK_CHANNEL, NETWORK_CHANNEL_TYPE, NETWORK_BUSY_US, NETWORK_OWN_BUSY_US = 0x10, "OSD", 51_200_000, 12_800_000
EXTENDED_BY_TIME, EXTENDED_BY_UNITS = 1, 2
CLOSED, INTERVAL_ENDED = 0, 1


def records(make: Recorder, night: Night) -> Iterator[Record]:
    """The records of every hour; of the batch job's data sets those of the hour in which it ran."""
    for hour in range(HOURS):
        used = [data_set for data_set in DATA_SETS if night.io(data_set, hour).ios]
        for job in dict.fromkeys(data_set.job for data_set in used):
            yield _by_data_set(make, night, hour, job, [one for one in used if one.job == job])
        volumes = [_volume(night, hour, one) for one in used]
        caches = [_cache(night, hour, one) for one in used]
        yield rmf(make, night, hour, "smf74_1", control={"devices_total": len(used)}, device=volumes)
        yield rmf(make, night, hour, "smf74_5", device=caches)
        yield rmf(make, night, hour, "smf71", paging=_central(hour))
        yield rmf(make, night, hour, "smf73", control={"channel_subsystem": 0}, channel=_channels(night, hour))
        yield rmf(make, night, hour, "smf75", page_data_set=_paging())
        if hour == BATCH_HOUR:
            yield rmf(make, night, hour, "smf77", enqueue=_contention())


def rmf(make: Recorder, night: Night, hour: int, layout: str, **sections: Any) -> Record:
    """A record of RMF with the product section of an hour."""
    start, end = night.hour(hour), night.hour(hour + 1)
    product = {
        "product_name": "RMF", "interval_start_clock_s": start, "interval_start_date": start, "interval_s": INTERVAL_S,
        "sample_count": INTERVAL_S, "sampling_cycle_ms": 1_000, "os_level": "ZV020500", "interval_expiry_utc": end,
        "gathering_end_utc": end, "local_offset_us": night.clock.offset_hours * 3_600_000_000,
        "defined_interval_s": INTERVAL_S, "sysplex_name": "SUBSPLEX", "system_name": "SUBS",
    }  # fmt: skip
    return make.record(layout, end, product=product, **sections)


def _by_data_set(make: Recorder, night: Night, hour: int, job: str, data_sets: list[DataSet]) -> Record:
    end = night.hour(hour + 1)
    online = data_sets[0].ios_per_quote > 0
    head = {"job_name": job, "reason_code": INTERVAL_ENDED if online else CLOSED, "reader_start_clock_us": night.start}
    rows = [
        {
            "parent_seq": 0, "data_set_name": one.name, "volume_serial": one.volume, "device_number": one.device,
            "storage_class": "ONLINE" if online else "BATCH",
        }
        for one in data_sets
    ]  # fmt: skip
    io = [{"parent_seq": place, **_io(night, hour, one)} for place, one in enumerate(data_sets)]
    product = {"interval_start_utc": night.hour(hour), "interval_end_utc": end}
    return make.record("smf42_6", end, product=product, job=head, data_set=rows, io=io)


def _io(night: Night, hour: int, data_set: DataSet) -> Row:
    io = night.io(data_set, hour)
    return {
        "ios": io.ios, "reads": io.reads, "cache_candidates": io.ios, "cache_hits": io.read_hits + io.writes,
        "write_candidates": io.writes, "write_hits": io.writes, "maximum_response_us": 8 * io.response_us,
        "average_response_us": io.response_us, "average_response_fine_us": io.response_us,
        "average_connect_us": CONNECT_US, "average_connect_fine_us": CONNECT_US,
        "average_pending_us": PENDING_US, "average_pending_fine_us": PENDING_US,
        "average_disconnect_us": data_set.disconnect_us, "average_disconnect_fine_us": data_set.disconnect_us,
    }  # fmt: skip


def _volume(night: Night, hour: int, data_set: DataSet) -> Row:
    ios = night.io(data_set, hour).ios
    return {
        "device_number": data_set.device.to_bytes(2), "volume_serial": data_set.volume, "start_subchannels": ios,
        "measured_operations": ios, "connect_us": ios * CONNECT_US, "pending_us": ios * PENDING_US,
        "disconnect_us": ios * data_set.disconnect_us, "storage_group": "SGSHOP",
    }  # fmt: skip


def _cache(night: Night, hour: int, data_set: DataSet) -> Row:
    io = night.io(data_set, hour)
    return {
        "device_number": data_set.device, "volume_serial": data_set.volume, "normal_read_requests": io.reads,
        "normal_read_hits": io.read_hits, "normal_write_requests": io.writes, "normal_write_hits": io.writes,
    }  # fmt: skip


def moved(night: Night, hour: int) -> tuple[int, int]:
    """Reads and writes of all data sets in an hour."""
    done = [night.io(one, hour) for one in DATA_SETS]
    return sum(io.reads for io in done), sum(io.writes for io in done)


def _channels(night: Night, hour: int) -> list[Row]:
    """All volumes hang on one channel path; the other carries the network."""
    reads, writes = moved(night, hour)
    units = WORK_UNITS_PER_IO * (reads + writes)
    disk = {
        "chpid": bytes([DISK_CHANNEL]), "channel_type": DISK_CHANNEL_TYPE, "measurement_group": EXTENDED_BY_UNITS,
        "measured_us": INTERVAL_S * 1_000_000, "work_units_max_per_s": WORK_UNITS_MAX_PER_S,
        "total_work_units": (1 + OTHERS) * units, "lpar_work_units": units, "data_unit_bytes": BYTES_PER_IO,
        "total_read_units": (1 + OTHERS) * reads, "lpar_read_units": reads,
        "total_write_units": (1 + OTHERS) * writes, "lpar_write_units": writes,
    }  # fmt: skip
    network = {
        "chpid": bytes([NETWORK_CHANNEL]), "channel_type": NETWORK_CHANNEL_TYPE, "measurement_group": EXTENDED_BY_TIME,
        "measured_us": INTERVAL_S * 1_000_000, "total_busy_us": NETWORK_BUSY_US, "lpar_busy_us": NETWORK_OWN_BUSY_US,
    }  # fmt: skip
    return [network, disk]


def _central(hour: int) -> Row:
    short = hour == BATCH_HOUR
    available = FRAMES_AVAILABLE_BATCH if short else FRAMES_AVAILABLE
    return {
        "frames_total": FRAMES, "fixed_frames_avg": FRAMES_FIXED,
        "available_frames_avg": available, "available_frames_min": available - FRAMES_BELOW_MEAN,
        "page_ins": PAGE_INS_BATCH * short, "block_page_ins": BLOCK_PAGE_INS_BATCH * short,
        "uic_avg_s": UIC_BATCH_S if short else UIC_S, "uic_low_s": UIC_BATCH_S if short else UIC_S,
    }  # fmt: skip


def _paging() -> Row:
    return {
        "page_data_set_name": PAGE_DATA_SET, "volume_serial": "PAGE01", "slots_in_data_set": SLOTS,
        "most_slots_used": SLOTS_USED_MAX, "fewest_slots_used": SLOTS_USED, "average_slots_used": SLOTS_USED,
        "average_slots_used_floating": SLOTS_USED, "in_use_samples": PAGING_SAMPLES, "io_requests": PAGES // 8,
        "pages_transferred": PAGES,
    }  # fmt: skip


def _contention() -> Row:
    """The batch job held its input while others wanted it."""
    name = next(one.name for one in DATA_SETS if one.dd_name == "QUOTES")
    return {
        "resource_major_name": "SYSDSN", "resource_minor_name_first_44": name, "minor_name_length_bytes": len(name),
        "contention_events": CONTENTIONS, "total_contention_us": CONTENTIONS * CONTENTION_US,
        "shortest_contention_us": CONTENTION_US, "longest_contention_us": CONTENTION_US, "most_exclusive_waiters": 2,
    }  # fmt: skip
