"""A plain, slow AMATERSE packer, written from the description of the format by other means than the reader."""

import struct

MARK = 257


def _symbols(records: list[bytes], variable: bool) -> str:
    """The data as one character per symbol: slices are hashable and cheap to look up."""
    coded = ["".join(chr(byte + 1) for byte in record) for record in records]
    return (chr(MARK) if variable else "").join(coded)


def _pack_codes(symbols: str) -> list[int]:
    phrase = {slot: chr(0x41) * (slot - 256) for slot in range(258, 4096)}
    slot_of = {text: slot for slot, text in phrase.items()}
    parent = {slot: slot - 1 for slot in range(259, 4096)} | {258: 0x41}
    recent = list(range(258, 4096))
    codes: list[int] = []
    previous = ""
    pending = 0
    at = 0
    while at < len(symbols):
        taken = recent.pop()
        if slot_of.get(phrase.get(taken, "")) == taken:
            del slot_of[phrase[taken]]
        if pending and pending != taken:
            phrase[pending] = previous + symbols[at]
            slot_of[phrase[pending]] = pending
        best, code = 1, ord(symbols[at])
        for length in range(2, len(symbols) - at + 1):
            slot = slot_of.get(symbols[at : at + length])
            if slot is None:
                break
            best, code = length, slot
        codes.append(code)
        chain = []
        visited = code
        while visited >= 258:
            chain.insert(0, visited)
            recent.remove(visited)
            visited = parent[visited]
        recent[:0] = [*chain, taken]
        previous = symbols[at : at + best]
        parent[taken] = code
        pending = taken
        at += best
    return codes


def _spack_codes(symbols: str) -> list[int]:
    phrase: dict[int, str] = {}
    slot_of: dict[str, int] = {}
    parts: dict[int, tuple[int, int]] = {}
    references: dict[int, int] = {}
    queue: list[int] = []
    free = list(range(258, 4096))
    codes: list[int] = []
    at = 0
    while at < len(symbols):
        if codes and not free:
            # The slot that goes is known before the code is chosen: it must not be named.
            victim = queue.pop(0)
            if victim == codes[-1]:
                raise AssertionError("the test data drive the packer into naming a slot it gives up")
            for part in parts.pop(victim):
                if part >= 258:
                    references[part] -= 1
                    if not references[part]:
                        queue.append(part)
            text = phrase.pop(victim)
            if slot_of.get(text) == victim:
                del slot_of[text]
            free.append(victim)
        best, code = 1, ord(symbols[at])
        for length in range(min(64, len(symbols) - at), 1, -1):
            slot = slot_of.get(symbols[at : at + length])
            if slot is not None:
                best, code = length, slot
                break
        if codes:
            slot = free.pop(0)
            left = codes[-1]
            parts[slot] = (left, code)
            phrase[slot] = phrase.get(left, chr(left)) + phrase.get(code, chr(code))
            slot_of[phrase[slot]] = slot
            references[slot] = 0
            for part in parts[slot]:
                if part >= 258:
                    if not references[part]:
                        queue.remove(part)
                    references[part] += 1
            queue.append(slot)
        codes.append(code)
        at += best
    return codes


def code_bytes(codes: list[int]) -> bytes:
    """12-bit codes, big-endian, two in three bytes; an odd number is filled with an end code."""
    even = codes + [0] * (len(codes) % 2)
    return b"".join(
        bytes((first >> 4, (first & 15) << 4 | second >> 8, second & 255))
        for first, second in zip(even[::2], even[1::2], strict=True)
    )


def terse(records: list[bytes], *, spack: bool, variable: bool, record_length: int = 32756) -> bytes:
    """An AMATERSE file of these records; for fixed data the records are simply joined."""
    symbols = _symbols(records, variable)
    codes = [*(_spack_codes if spack else _pack_codes)(symbols), 0]
    header = struct.pack(">BBHBBHI", 5 if spack else 2, int(variable), record_length, 0x04, 0, 0, record_length)
    packed = header + code_bytes(codes)
    return packed + bytes(-len(packed) % 1024)
