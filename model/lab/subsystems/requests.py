"""Each quote's request: z/OS Connect (123.1), Liberty (120.11), its Db2 thread (101) and connections (119.11, 119.12).

Every fourth quote is confirmed by a request to WebSphere (120.9).
"""

from collections.abc import Iterator
from typing import Any

from model.lab.records.common import Record
from model.lab.subsystems.night import HOURS, Night
from model.lab.subsystems.recording import Recorder

API, URI, WEB_JOB = "quotes", "/shop/quotes", "SHOPWEB"
DB2, PLAN, CONNECTION = "DB1A", "SHOPPLAN", "CICSSHOP"
CONNECT_US = 2_000
CONFIRM_EVERY, CONFIRM_URI, CONFIRM_JOB = 4, "/shop/confirm", "SHOPWAS"
QUEUE_US, QUEUED_AFTER_US, URI_KIND = 1_500, 200, 6
REQUESTS_PER_CONNECTION, REQUEST_BYTES, REPLY_BYTES = 5, 700, 4_000
TLS_PORT, PLAIN_PORT, PLAIN_EVERY = 9_443, 9_080, 10
TLS, TLS_1_2, TLS_1_3, SERVER = 0x80, 771, 772, 0x40


def records(make: Recorder, night: Night) -> Iterator[Record]:
    """Records of every quote, when it is answered; of every fifth, its connection's end."""
    for quote in range(night.at_us.size):
        yield _connect(make, night, quote)
        yield _liberty(make, night, quote)
        yield _db2(make, night, quote)
        if quote % CONFIRM_EVERY == 0:
            yield _confirm(make, night, quote)
        if quote % REQUESTS_PER_CONNECTION == 0:
            yield _connection(make, night, quote)
    for hour in range(HOURS):
        yield _session(make, night, hour)


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


def _confirm(make: Recorder, night: Night, quote: int) -> Record:
    received = int(night.at_us[quote] + night.response_us[quote])
    queued = received + QUEUED_AFTER_US
    end = night.moment(received + int(night.confirm_us[quote]))
    cpu = int(night.confirm_cpu_us[quote])
    request = {"request_type": 2, "cpu_time_dispatch_tcb_us": cpu}
    zos_request = {
        "request_received_utc": night.moment(received), "request_queued_utc": night.moment(queued),
        "dispatch_begins_utc": night.moment(queued + QUEUE_US), "dispatch_ends_utc": end, "response_sent_utc": end,
        "cpu_time_off_standard_processors_us": int(night.confirm_ziip_us[quote]), "transaction_class": "CONFIRM",
    }  # fmt: skip
    text = f"{CONFIRM_URI}?id={quote}"
    uri = {"type_data": URI_KIND, "length_data_bytes": len(text), "classification_data": text}
    server = {"controller_job_name": CONFIRM_JOB}
    return make.record("smf120_9", end, zos_server=server, request=request, zos_request=zos_request, classification=uri)


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
    number = quote // REQUESTS_PER_CONNECTION
    port = _port(number)
    connection = {
        "event_type": 3, "security_protocol_flags": TLS if port == TLS_PORT else 0, "job_name_socket": "ZCEESRV",
        "local_port": port, "ip_protocol": 6, "connection_id": number,
        "in_since_start_bytes": REQUESTS_PER_CONNECTION * REQUEST_BYTES,
        "out_since_start_bytes": REQUESTS_PER_CONNECTION * REPLY_BYTES,
    }  # fmt: skip
    version = TLS_1_2 if number % 4 == 0 else TLS_1_3
    tls = {"tls": {"protocol_version": version}} if port == TLS_PORT else {}
    end = night.moment(_ended_us(night, quote))
    return make.record("smf119_11", end, identification={"stack_name": "TCPIP"}, connection=connection, **tls)


def _session(make: Recorder, night: Night, hour: int) -> Record:
    """The session without protection at the end of each hour, with all its connections since the night began."""
    start, end = (_plain_connections(night, hour + later) for later in (0, 1))
    session = {
        "interval_length_us": 3_600_000_000, "event_type": 1, "connection_flags": SERVER, "job_name_socket": "ZCEESRV",
        "ip_protocol": 6, "first_server_port": PLAIN_PORT, "last_server_port": PLAIN_PORT,
        "connections_session_at_start": start, "connections_session_at_end": end,
        "in_at_start_bytes": start * REQUESTS_PER_CONNECTION * REQUEST_BYTES,
        "in_at_end_bytes": end * REQUESTS_PER_CONNECTION * REQUEST_BYTES,
        "out_at_start_bytes": start * REQUESTS_PER_CONNECTION * REPLY_BYTES,
        "out_at_end_bytes": end * REQUESTS_PER_CONNECTION * REPLY_BYTES,
    }  # fmt: skip
    return make.record("smf119_12", night.hour(hour + 1), identification={"stack_name": "TCPIP"}, session=session)


def _plain_connections(night: Night, hours: int) -> int:
    """Connections without protection that ended in the night's first hours."""
    first = range(0, night.at_us.size, REQUESTS_PER_CONNECTION * PLAIN_EVERY)
    return sum(_ended_us(night, quote) < hours * 3_600_000_000 for quote in first)


def _port(number: int) -> int:
    return TLS_PORT if number % PLAIN_EVERY else PLAIN_PORT


def _ended_us(night: Night, quote: int) -> int:
    return int(night.at_us[quote] + night.response_us[quote]) + 5_000_000
