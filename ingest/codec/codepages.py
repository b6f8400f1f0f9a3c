"""EBCDIC code pages as tables: both are one-to-one with Latin-1, so text survives the way there and back."""

from functools import cache

import numpy as np
import numpy.typing as npt

_SWAPPED_IN_1047 = {0x5F: "^", 0xB0: "¬", 0xAD: "[", 0xBD: "]", 0xBA: "Ý", 0xBB: "¨"}

BLANK = 0x40
"""The EBCDIC blank, which pads text fields."""


@cache
def decoding_table(form: str) -> npt.NDArray[np.uint8]:
    """Latin-1 code of each EBCDIC byte, 256 entries, for the format `ebcdic` (code page 037) or `ebcdic1047`."""
    characters = bytearray(bytes(range(256)).decode("cp037").encode("latin-1"))
    if form == "ebcdic1047":
        for byte, character in _SWAPPED_IN_1047.items():
            characters[byte] = ord(character)
    return np.frombuffer(bytes(characters), dtype=np.uint8)


@cache
def encoding_table(form: str) -> bytes:
    """EBCDIC byte of each Latin-1 code, for `bytes.translate`."""
    table = bytearray(256)
    for byte, code in enumerate(decoding_table(form)):
        table[code] = byte
    return bytes(table)
