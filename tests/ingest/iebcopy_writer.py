"""A plain writer of what IEBCOPY unloads of a partitioned data set, from the description of the format."""

from collections.abc import Mapping

_TRACKS = 15
_DIRECTORY_ENTRIES = 5


def _block(place: tuple[int, int, int], data: bytes, key: bytes = b"") -> bytes:
    cylinder, head, record = place
    count = bytes(4) + cylinder.to_bytes(2) + head.to_bytes(2) + bytes([record, len(key)]) + len(data).to_bytes(2)
    return count + key + data


def _entry(name: str, track: int, record: int, *, alias: bool = False, user: bytes = b"") -> bytes:
    flags = (0x80 if alias else 0) | len(user) // 2
    return name.ljust(8).encode("cp037") + track.to_bytes(2) + bytes([record, flags]) + user


def unload(
    members: Mapping[str, list[bytes]], *, aliases: Mapping[str, str] | None = None, form: int = 0x50
) -> list[bytes]:
    """The records of the unloaded data set, without descriptors.

    members: blocks of each member; aliases: further names of members; form: record format, 0x50 for VB, 0x90 for FB.
    """
    first = bytes([0]) + b"\xca\x6d\x0f" + b"\2\0" + (27_998).to_bytes(2) + (27_994).to_bytes(2) + bytes([form])
    first = first.ljust(36, b"\0") + (2).to_bytes(2)
    second = bytes(16) + bytes(256) + bytes(4)
    # Members stand on the device in another order than in the directory, which is that of names.
    places = {name: (1 + n, 1) for n, name in enumerate(sorted(members, reverse=True))}
    names = {name: name for name in members} | dict(aliases or {})
    entries = [
        _entry(name, *places[meant], alias=name != meant, user=b"" if len(name) % 2 else b"\1\0" * 15)
        for name, meant in sorted(names.items())
    ]
    entries.append(b"\xff" * 8 + bytes(4))
    directory = b""
    for at in range(0, len(entries), _DIRECTORY_ENTRIES):
        used = b"".join(entries[at : at + _DIRECTORY_ENTRIES])
        body = ((len(used) + 2).to_bytes(2) + used).ljust(256, b"\0")
        directory += _block((0, 0, 0), body, key=b"\xff" * 8)
    records = [first.ljust(56, b"\0"), second, directory, _block((0, 0, 0), b"")]
    for name in sorted(members, key=lambda name: places[name]):
        track = places[name][0]
        place = track // _TRACKS, track % _TRACKS
        blocks = [_block((*place, number), data) for number, data in enumerate(members[name], 1)]
        records += [b"".join(blocks[:2]), *blocks[2:], _block((*place, len(blocks) + 1), b"")]
    return [record for record in records if record]
