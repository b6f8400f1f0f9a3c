"""MQ: every quote is put to a queue by the web server, got by CICS, and passed on over a channel."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from model.lab.records.common import Record
from model.lab.subsystems.night import HOURS, QUOTES_PER_HOUR, Night
from model.lab.subsystems.recording import Recorder

QUEUE_MANAGER, CHANNEL, PARTNER = "MQ1A", "SHOP.TO.BANK", "BANKQM"
QUOTE_QUEUE, PASSED_ON_QUEUE = "SHOP.QUOTES", "BANK.PAYMENTS"
MESSAGE_BYTES = 2_048
PUT_CPU_US, GET_CPU_US = 25, 20
PUT_US, GET_US, ON_QUEUE_US = 180, 60, 4_000
LOG_WRITE_US, CIS_PER_MESSAGE = 350, 2
MESSAGES_PER_BATCH = 10
BUFFERS, PAGE_REQUESTS_PER_MESSAGE, PAGES_READ_PCT = 20_000, 10, 3
BATCH_OR_TSO, CICS, CHANNEL_INITIATOR = 2, 1, 6


def cpu_us(quotes: int) -> int:
    """CPU of MQ calls for so many quotes: each is put and got on two queues."""
    return 2 * quotes * (PUT_CPU_US + GET_CPU_US)


def records(make: Recorder, night: Night) -> Iterator[Record]:
    """Statistics of the queue manager, accounting of its threads by queue and of its channel, hour by hour."""
    for hour in range(HOURS):
        quotes = QUOTES_PER_HOUR[hour]
        end = night.hour(hour + 1)
        head = {
            "header_length_bytes": 52, "header_type": 1, "queue_manager": QUEUE_MANAGER,
            "interval_start_local": night.clock.local(night.hour(hour)), "interval_us": 3_600_000_000,
        }  # fmt: skip
        yield make.record("smf115_1", end, standard=head, log_manager=_log(quotes))
        yield make.record("smf115_2", end, standard=head, message_manager=_messages(quotes))
        yield make.record("smf115_215", end, standard=head, buffer_pool=_pool(quotes))
        for thread, queues in _threads(quotes):
            standard = {"header_length_bytes": 52, "header_type": 1, "queue_manager": QUEUE_MANAGER}
            yield make.record("smf116_1", end, standard=standard, thread=thread, queue=queues)
        yield make.record("smf116_10", end, standard=head, channel=_channel(night, hour))


def _log(quotes: int) -> dict[str, Any]:
    writes = 2 * quotes
    return {
        "log_writes": writes, "cis_written": writes * CIS_PER_MESSAGE, "checkpoints": 1, "buffer_waits": 0,
        "io_copy1_kind1_count": writes, "io_copy1_kind1_total_us": writes * LOG_WRITE_US,
    }  # fmt: skip


def _messages(quotes: int) -> dict[str, Any]:
    return {
        "opens": 3, "closes": 3, "puts": 2 * quotes, "gets": 2 * quotes, "persistent_puts": 2 * quotes,
        "persistent_put_bytes": 2 * quotes * MESSAGE_BYTES,
    }  # fmt: skip


def _pool(quotes: int) -> dict[str, Any]:
    requests = 2 * quotes * PAGE_REQUESTS_PER_MESSAGE
    return {
        "buffer_pool": 3, "buffers": BUFFERS, "lowest_stealable_buffers": BUFFERS // 4,
        "stealable_buffers": BUFFERS // 2, "old_page_requests": requests,
        "page_reads": requests * PAGES_READ_PCT // 100,
    }  # fmt: skip


def _threads(quotes: int) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Every thread with the queues it worked with."""
    yield {"connection_type": BATCH_OR_TSO, "connection_name": "SHOPWEB"}, [_put(QUOTE_QUEUE, quotes)]
    cics = {"connection_type": CICS, "connection_name": "CICSSHOP"}
    yield cics, [_got(QUOTE_QUEUE, quotes), _put(PASSED_ON_QUEUE, quotes)]
    mover = {"connection_type": CHANNEL_INITIATOR, "connection_name": "MQ1ACHIN", "channel_name": CHANNEL}
    yield mover, [_got(PASSED_ON_QUEUE, quotes)]


def _put(queue: str, messages: int) -> dict[str, Any]:
    return {
        "object_name": queue, "queue_name": queue, "puts": messages, "valid_puts": messages,
        "put_bytes": messages * MESSAGE_BYTES, "puts_persistent": messages, "put_elapsed_us": messages * PUT_US,
        "put_cpu_us": messages * PUT_CPU_US, "depth_max": 5,
    }  # fmt: skip


def _got(queue: str, messages: int) -> dict[str, Any]:
    return {
        "object_name": queue, "queue_name": queue, "gets": messages, "valid_gets": messages,
        "get_bytes": messages * MESSAGE_BYTES, "gets_destructive_valid": messages,
        "get_elapsed_us": messages * GET_US, "get_cpu_us": messages * GET_CPU_US,
        "time_on_queue_total_us": messages * ON_QUEUE_US, "depth_max": 5,
    }  # fmt: skip


def _channel(night: Night, hour: int) -> dict[str, Any]:
    messages = QUOTES_PER_HOUR[hour]
    return {
        "collected_utc": night.hour(hour + 1), "channel_name": CHANNEL, "connection_name": "10.1.2.3",
        "remote_name": PARTNER, "started_utc": night.start - timedelta(hours=3), "messages": messages,
        "batches": messages // MESSAGES_PER_BATCH, "message_bytes": messages * MESSAGE_BYTES,
        "sent_bytes": messages * (MESSAGE_BYTES + 400), "received_bytes": messages // MESSAGES_PER_BATCH * 100,
    }  # fmt: skip
