"""Each quote's request: z/OS Connect (123.1), Liberty (120.11), its Db2 thread (101) and connections (119.11)."""

from collections.abc import Iterator
from typing import Any

from model.lab.records.common import Record
from model.lab.subsystems.night import Night
from model.lab.subsystems.recording import Recorder

API, URI, WEB_JOB = "quotes", "/shop/quotes", "SHOPWEB"
DB2, PLAN, CONNECTION = "DB1A", "SHOPPLAN", "CICSSHOP"
CONNECT_US = 2_000
REQUESTS_PER_CONNECTION, REQUEST_BYTES, REPLY_BYTES = 5, 700, 4_000
TLS_PORT, PLAIN_PORT, PLAIN_EVERY = 9_443, 9_080, 10
TLS, TLS_1_2, TLS_1_3 = 0x80, 771, 772


def records(make: Recorder, night: Night) -> Iterator[Record]:
    """Records of every quote, when it is answered; of every fifth, its connection's end."""
    for quote in range(night.at_us.size):
        yield _connect(make, night, quote)
        yield _liberty(make, night, quote)
        yield _db2(make, night, quote)
        if quote % REQUESTS_PER_CONNECTION == 0:
            yield _connection(make, night, quote)


def _connect(make: Recorder, night: Night, quote: int) -> Record:
    entry = int(night.at_us[quote]) - CONNECT_US
    left = int(night.at_us[quote] + night.response_us[quote]) + CONNECT_US
    request = {
        "http_status": 500 if night.failed[quote] else 200, "api_name": API, "service_name": "askForQuote",
        "http_method": "POST", "entry_utc": night.moment(entry), "exit_utc": night.moment(left),
        "backend_sent_utc": night.moment(entry + CONNECT_US),
        "backend_received_utc": night.moment(entry + CONNECT_US + int(night.backend_us[quote])),
    }  # fmt: skip
    head = {"subtype_version": 2, "local_offset_us": night.clock.offset_tod // 4096}
    return make.record("smf123_1", night.moment(left), head, server={"job_name": "ZCEESRV"}, request=request)


def _liberty(make: Recorder, night: Night, quote: int) -> Record:
    end = night.moment(night.at_us[quote] + night.response_us[quote])
    cpu = int(night.web_cpu_us[quote])
    request = {
        "started_utc": night.moment(night.at_us[quote]), "ended_utc": end, "cpu_start_us": 50, "cpu_end_us": 50 + cpu,
        "cp_start_us": 50, "cp_end_us": 50 + cpu - int(night.web_ziip_us[quote]), "uri": f"{URI}?id={quote}",
        "enclave_ziip_us": int(night.web_ziip_us[quote]), "transaction_class": "QUOTES",
    }  # fmt: skip
    return make.record("smf120_11", end, server={"job_name": WEB_JOB}, request=request)


def _db2(make: Recorder, night: Night, quote: int) -> Record:
    begin = int(night.at_us[quote]) + 1_000
    end = night.moment(begin + int(night.db2_us[quote]))
    cpu = int(night.db2_cpu_us[quote])
    accounting: dict[str, Any] = {
        "begin_utc": night.moment(begin), "end_utc": end, "begin_cpu_us": 0, "end_cpu_us": cpu,
        "commits": int(not night.failed[quote]), "rollbacks": int(night.failed[quote]),
        "class2_elapsed_us": int(night.db2_us[quote]) * 9 // 10, "class2_cpu_us": cpu * 4 // 5,
        "wait_sync_io_us": int(night.db2_io_us[quote]), "waits_sync_io": 2,
    }  # fmt: skip
    correlation = {
        "parent_seq": 0, "correlation_type": b"\x02", "authorization_id": "CICSUSER", "correlation_id": "QUOT",
        "connection_name": CONNECTION, "plan_name": PLAN,
    }  # fmt: skip
    product = {"standard_type": b"\x01", "ifcid": 3, "db2_subsystem": DB2, "record_utc": end}
    return make.record("smf101", end, product=product, accounting=accounting, correlation=correlation)


def _connection(make: Recorder, night: Night, quote: int) -> Record:
    end = night.moment(night.at_us[quote] + night.response_us[quote] + 5_000_000)
    number = quote // REQUESTS_PER_CONNECTION
    protected = number % PLAIN_EVERY != 0
    connection = {
        "event_type": 3, "security_protocol_flags": TLS if protected else 0, "job_name_socket": "ZCEESRV",
        "local_port": TLS_PORT if protected else PLAIN_PORT, "ip_protocol": 6, "connection_id": number,
        "in_since_start_bytes": REQUESTS_PER_CONNECTION * REQUEST_BYTES,
        "out_since_start_bytes": REQUESTS_PER_CONNECTION * REPLY_BYTES,
    }  # fmt: skip
    tls = {"tls": {"protocol_version": TLS_1_2 if number % 4 == 0 else TLS_1_3}} if protected else {}
    return make.record("smf119_11", end, identification={"stack_name": "TCPIP"}, connection=connection, **tls)
