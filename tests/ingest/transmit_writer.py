"""A plain writer of what TSO TRANSMIT writes, from the description of the format."""


def _unit(key: int, *values: bytes) -> bytes:
    parts = b"".join(len(value).to_bytes(2) + value for value in values)
    return key.to_bytes(2) + len(values).to_bytes(2) + parts


def _segments(record: bytes, flags: int, most: int) -> bytes:
    pieces = [record[at : at + most] for at in range(0, len(record), most)] or [b""]
    last = len(pieces) - 1
    return b"".join(
        bytes([len(piece) + 2, flags | (0x80 if place == 0 else 0) | (0x40 if place == last else 0)]) + piece
        for place, piece in enumerate(pieces)
    )


def _control(name: str, units: bytes, most: int) -> bytes:
    return _segments(name.encode("cp037") + units, 0x20, most)


def transmit(
    records: list[bytes],
    *,
    variable: bool,
    message: list[bytes] | None = None,
    utility: str = "INMCOPY",
    most: int = 253,
) -> bytes:
    """The records of a data set, with a message before them if there is one, in lines of 80 bytes."""
    files = ([("INMCOPY", message, True)] if message is not None else []) + [(utility, records, False)]
    out = _control("INMR01", _unit(0x0042, b"\0\x50") + _unit(0x1011, "NODE".encode("cp037")), most)
    for number, (program, _, is_message) in enumerate(files, 1):
        units = _unit(0x1028, program.encode("cp037")) + _unit(
            0x0049, b"\x50\0" if variable or is_message else b"\x90\0"
        )
        units += _unit(0x0028) if is_message else _unit(0x0002, "PERF".encode("cp037"), "SMF".encode("cp037"))
        out += _control("INMR02", number.to_bytes(4) + units, most)
    for _, content, _ in files:
        out += _control("INMR03", _unit(0x0042, b"\0\x50") + _unit(0x0049, b"\0\x01"), most)
        out += b"".join(_segments(record, 0, most) for record in content)
    out += _control("INMR06", b"", most)
    return out + b"\x40" * (-len(out) % 80)
