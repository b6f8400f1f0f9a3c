"""The tables of the IMS log that do not depend on layouts."""

import pyarrow as pa

_TEXT = pa.string()


def _schema(description: str, columns: list[tuple[str, pa.DataType, str]]) -> pa.Schema:
    keys = [
        ("record_seq", pa.uint32(), "Ordinal of the record in the file, from 0"),
        ("section_seq", pa.uint32(), "Always 0"),
    ]
    fields = [pa.field(name, kind, metadata={"description": text}) for name, kind, text in keys + columns]
    return pa.schema(fields, metadata={"description": description})


RECORD_SCHEMA = _schema(
    "One row per record of an IMS log: prefix and suffix.",
    [
        ("record_length", pa.int64(), "Length in bytes, prefix and suffix included"),
        ("log_code", _TEXT, "Log record code, hexadecimal"),
        ("subcode", _TEXT, "Subcode, hexadecimal; flags in records that have no subcodes"),
        ("record_name", _TEXT, "Kind of record, if its code is known"),
        ("written_utc", pa.timestamp("us"), "When the record was written; NULL if the suffix has no store clock"),
        ("written_utc_raw", pa.uint64(), "Bytes of the suffix at the store clock"),
        ("log_seq", pa.uint64(), "Log sequence number; NULL if the suffix has no store clock"),
    ],
)

EVENT_SCHEMA = _schema(
    "Events of messages and schedules in an IMS log; NULL if no layout has the field.",
    [
        ("event", _TEXT, "arrival, enqueue, get, output, dequeue, schedule, end, syncpoint or account"),
        ("log_code", _TEXT, "Log record code, hexadecimal"),
        ("subcode", _TEXT, "Subcode, hexadecimal"),
        (
            "event_utc",
            pa.timestamp("us"),
            "When it happened: the layout's `event_utc`, else when the record was written",
        ),
        ("log_seq", pa.uint64(), "Log sequence number"),
        ("unit_of_work", _TEXT, "Token of the unit of work, hexadecimal: ties a message's records together"),
        ("recovery_token", _TEXT, "Recovery token, hexadecimal: ties a schedule's records together"),
        ("transaction_code", _TEXT, "Transaction code"),
        ("program_name", _TEXT, "Program or PSB"),
        ("lterm", _TEXT, "Logical terminal"),
        ("user_id", _TEXT, "User"),
        ("pst_number", pa.int64(), "Number of the partition specification table: the region"),
        ("transaction_class", pa.int64(), "Class of the transaction"),
        ("messages", pa.int64(), "Messages the schedule processed"),
        ("cpu_us", pa.float64(), "Processor time in microseconds"),
        ("ziip_us", pa.float64(), "Part of it on specialty engines, in microseconds"),
    ],
)

#: Columns of `ims_log_event` that a layout fills with its fields of the same friendly name.
FROM_LAYOUT = tuple(EVENT_SCHEMA.names[EVENT_SCHEMA.names.index("unit_of_work") :])


def schemas() -> dict[str, pa.Schema]:
    """Arrow schema of the tables that every IMS log has, by name, without `file_id`."""
    return {"ims_log_record": RECORD_SCHEMA, "ims_log_event": EVENT_SCHEMA}
