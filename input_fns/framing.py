"""The frame around each TFRecord: length, its checksum, the record, its checksum."""

from __future__ import annotations

import functools
import struct

HEADER_BYTES = 12
FOOTER_BYTES = 4


def is_framed(start: bytes) -> bool:
    """Whether a file that begins with these bytes is a TFRecord file."""
    if len(start) < HEADER_BYTES:
        return False
    (checksum,) = struct.unpack("<I", start[8:12])
    return checksum == _masked_crc32c(start[:8])


def record_length(header: bytes) -> int:
    """The number of bytes that a record's header announces."""
    return struct.unpack("<Q", header[:8])[0]


def _masked_crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _table()[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@functools.cache
def _table() -> tuple[int, ...]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return tuple(table)
