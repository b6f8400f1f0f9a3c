"""Arrow columns to the bytes of record fields: one function per format, over whole columns.

Every function takes a column and a field and returns the bytes of the field for each row, as a matrix of shape (rows,
bytes). NULL becomes the format's empty value: blanks for text, else zero.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ingest.codec.codepages import BLANK, encoding_table
from ingest.kernels.reading import TOD_UNIX_EPOCH_US
from ingest.layout import Field

Matrix = npt.NDArray[np.uint8]


class ValueDomainError(ValueError):
    """A value that a field cannot hold."""


def empty(item: Field, rows: int) -> Matrix:
    """The bytes of a field for rows that say nothing about it."""
    fill = BLANK if item.form.name.startswith("ebcdic") else 0
    return np.full((rows, item.length * item.count), fill, np.uint8)


def to_bytes(item: Field, column: pa.Array, raw: pa.Array | None = None) -> Matrix:
    """The bytes of a field for each row of a column.

    `raw` is the column that keeps the field's raw value, if there is one; where it is not NULL it is what is written.
    Raises ValueDomainError when a value does not fit the field.
    """
    if item.count > 1:
        lists = column.cast(item.arrow)
        values = lists.values.slice(lists.offset * item.count, len(lists) * item.count)
        return _WRITERS[item.form.name](item, values).reshape(len(column), -1)
    written = _WRITERS[item.form.name](item, column)
    if item.form.name.startswith("packed") and column.null_count:
        written[~np.asarray(column.is_valid())] = 0
    if raw is None:
        return written
    kept = np.asarray(raw.is_valid())
    written[kept] = _RAW_WRITERS[item.form.name](item, raw)[kept]
    return written


def valid_rows(item: Field, column: pa.Array, raw: pa.Array | None = None) -> npt.NDArray[np.bool_]:
    """True for each row that holds a value for the field."""
    valid = np.asarray(column.is_valid())
    return valid if raw is None else valid | np.asarray(raw.is_valid())


def _numbers(column: pa.Array, kind: pa.DataType, name: str) -> npt.NDArray:
    try:
        return column.cast(kind).fill_null(0).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid as error:
        raise ValueDomainError(str(error)) from error


def big_endian(values: npt.NDArray, length: int) -> Matrix:
    """Low `length` bytes of each number, most significant first; refuses numbers that need more."""
    width = values.dtype.itemsize
    matrix = np.ascontiguousarray(values).astype(values.dtype.newbyteorder(">")).view(np.uint8).reshape(-1, width)
    if matrix[:, : width - length].any():
        raise ValueDomainError(f"a value needs more than {length} bytes")
    return np.ascontiguousarray(matrix[:, width - length :])


def _integer(item: Field, column: pa.Array) -> Matrix:
    return big_endian(_numbers(column, item.form.arrow(item.length), item.column), item.length)


def ebcdic(word: str, form: str) -> bytes:
    """A text in the EBCDIC code page of a format. Raises ValueDomainError for a character the code page lacks."""
    try:
        return word.encode("latin-1").translate(encoding_table(form))
    except UnicodeEncodeError as error:
        raise ValueDomainError(f"{word!r} has a character that the EBCDIC code page lacks") from error


def _text(item: Field, column: pa.Array) -> Matrix:
    codes = column.cast(pa.string()).dictionary_encode()
    words = np.full((len(codes.dictionary) + 1, item.length), BLANK, np.uint8)
    for row, word in enumerate(codes.dictionary.to_pylist()):
        encoded = ebcdic(word, item.form.name)
        if len(encoded) > item.length:
            raise ValueDomainError(f"{word!r} is longer than {item.length} characters")
        words[row, : len(encoded)] = np.frombuffer(encoded, np.uint8)
    return words[codes.indices.fill_null(len(codes.dictionary)).to_numpy(zero_copy_only=False)]


def byte_lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    """Bytes of each value, 0 where it is NULL."""
    from pyarrow.compute import binary_length

    return binary_length(column).fill_null(0).to_numpy(zero_copy_only=False)


def _bytes(item: Field, column: pa.Array) -> Matrix:
    matrix = np.zeros((len(column), item.length), np.uint8)
    valid = np.asarray(column.is_valid())
    if column.type == pa.binary(item.length):
        kept = np.frombuffer(column.buffers()[1], np.uint8).reshape(-1, item.length)
        matrix[valid] = kept[column.offset : column.offset + len(column)][valid]
        return matrix
    texts = column.cast(pa.large_binary())
    lengths = byte_lengths(texts)
    if (lengths > item.length).any():
        raise ValueDomainError(f"a value of {lengths.max()} bytes; the field has {item.length}")
    inside = np.arange(item.length) < lengths[:, None]
    matrix[inside] = np.frombuffer(b"".join(texts.drop_null().to_pylist()), np.uint8)
    return matrix


def _hfp(item: Field, column: pa.Array) -> Matrix:
    values = _numbers(column, pa.float64(), item.column)
    if not np.isfinite(values).all():
        raise ValueDomainError("hexadecimal floating point has neither infinity nor NaN")
    return big_endian(hfp_bits(values, item.length), item.length)


def hfp_bits(values: npt.NDArray[np.float64], length: int) -> npt.NDArray[np.uint64]:
    """Normalised hexadecimal floating point of 4 or 8 bytes, as integers; 8 bytes hold a double exactly."""
    fraction_bits = length * 8 - 8
    mantissa, exponent = np.frexp(np.abs(values))
    power = -(-exponent // 4)
    fraction = np.rint(np.ldexp(mantissa, fraction_bits - (4 * power - exponent))).astype(np.uint64)
    carried = fraction >> np.uint64(fraction_bits) > 0
    fraction = np.where(carried, fraction >> np.uint64(4), fraction)
    biased = np.where(fraction == 0, 0, power + carried + 64)
    if ((biased < 0) | (biased > 127)).any():
        raise ValueDomainError("a value is outside the range of hexadecimal floating point, about 5e-79 to 7e75")
    sign = np.signbit(values).astype(np.uint64)
    top = np.uint64(fraction_bits)
    return (sign << (top + np.uint64(7))) | (biased.astype(np.uint64) << top) | fraction


def _packed(item: Field, column: pa.Array) -> Matrix:
    return big_endian(packed_digits(_numbers(column, pa.uint64(), item.column), item.length), item.length)


def packed_digits(values: npt.NDArray[np.uint64], length: int) -> npt.NDArray[np.uint64]:
    """Packed decimal with sign nibble F, as integers of `length` bytes."""
    digits = 2 * length - 1
    if digits < 20 and (values >= 10**digits).any():
        raise ValueDomainError(f"a value has more than {digits} digits")
    packed = np.full(values.shape, 0xF, np.uint64)
    rest = values.astype(np.uint64)
    for place in range(1, digits + 1):
        packed |= (rest % np.uint64(10)) << np.uint64(4 * place)
        rest = rest // np.uint64(10)
    return packed


def _packed_date(item: Field, column: pa.Array) -> Matrix:
    dates = _numbers(column.cast(pa.date32()), pa.int32(), item.column).astype("datetime64[D]")
    years = dates.astype("datetime64[Y]")
    number = years.astype(np.int64) + 1970
    if ((number < 1900) | (number > 2899)).any():
        raise ValueDomainError("a packed date holds the years 1900 to 2899")
    ordinal = (dates - years.astype("datetime64[D]")).astype(np.int64) + 1
    return big_endian(packed_digits(((number - 1900) * 1000 + ordinal).astype(np.uint64), 4), 4)


def _tod(item: Field, column: pa.Array) -> Matrix:
    micros = _numbers(column.cast(pa.timestamp("us")), pa.int64(), item.column)
    since_1900 = np.where(np.asarray(column.is_valid()), micros + TOD_UNIX_EPOCH_US, 0)
    if ((since_1900 < 0) | (since_1900 >= 2**52)).any():
        raise ValueDomainError("a store clock holds the years 1900 to 2042")
    clock = big_endian(since_1900.astype(np.uint64) << np.uint64(12), 8)
    if item.form.name == "tod":
        return clock
    if item.form.name == "tod_upper":
        return np.ascontiguousarray(clock[:, :4])
    matrix = np.zeros((len(column), 16), np.uint8)
    matrix[:, 1:9] = clock
    return matrix


def _raw_clock(item: Field, column: pa.Array) -> Matrix:
    return big_endian(_numbers(column, pa.uint64(), item.column), 8)


_WRITERS: dict[str, Callable[[Field, pa.Array], Matrix]] = {
    "uint": _integer,
    "int": _integer,
    "flags": _integer,
    "hundredths": _integer,
    "tod_duration": _integer,
    "tod_signed": _integer,
    "ebcdic": _text,
    "ebcdic1047": _text,
    "bytes": _bytes,
    "ip16": _bytes,
    "hfp": _hfp,
    "packed": _packed,
    "packed_time": _packed,
    "packed_interval": _packed,
    "packed_date": _packed_date,
    "tod": _tod,
    "tod_upper": _tod,
    "stcke": _tod,
}

_RAW_WRITERS: dict[str, Callable[[Field, pa.Array], Matrix]] = {
    "tod": _raw_clock,
    "tod_upper": lambda item, column: big_endian(_numbers(column, pa.uint32(), item.column), 4),
    "stcke": _bytes,
}
