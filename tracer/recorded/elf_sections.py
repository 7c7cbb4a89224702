"""Sections of ELF files by name: read, and added to a finished object or executable. Imports nothing of ours.

Linkers join the sections of one name that are not loaded, in the order of their objects, and keep them in archives,
shared libraries and executables.
"""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_IDENT = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_PROGBITS, _NOBITS = 1, 8
_MANY = 0xFF00  # numbers of sections from here on are stored elsewhere


def is_elf(data: bytes) -> bool:
    """Whether bytes begin like a 64-bit little-endian ELF file."""
    return data[:6] == _IDENT


def section(data: bytes, name: str) -> bytes:
    """What all sections of a name hold, one behind the other. Raises ValueError for damaged files."""
    headers, names = _headers(data)
    wanted = name.encode() + b"\0"
    found = [
        data[offset : offset + size]
        for key, kind, _, _, offset, size, *_ in headers
        if kind not in (0, _NOBITS) and names[key : key + len(wanted)] == wanted
    ]
    return b"".join(found)


def dynamic_symbols(data: bytes) -> tuple[list[str], list[str]]:
    """Names that a program offers to its libraries, and those that it expects of them. Raises as `section`."""
    names = section(data, ".dynstr")
    table = section(data, ".dynsym")
    found: tuple[list[str], list[str]] = ([], [])
    for name, _, _, place, _, _ in _SYMBOL.iter_unpack(table[: len(table) // _SYMBOL.size * _SYMBOL.size]):
        text = names[name : names.find(b"\0", name)].decode(errors="replace")
        if text:
            found[place == 0].append(text)
    return found


def with_section(data: bytes, name: str, content: bytes) -> bytes:
    """The file with one section more, which is never loaded. Raises ValueError for damaged files."""
    headers, names = _headers(data)
    place = _HEADER.unpack_from(data)[13]
    if not headers or len(headers) + 1 >= _MANY:
        raise ValueError(f"an ELF file of {len(headers)} sections takes no other one")
    names += b"" if names.endswith(b"\0") else b"\0"
    at = len(data)
    headers.append((len(names), _PROGBITS, 0, 0, at, len(content), 0, 0, 1, 0))
    names += name.encode() + b"\0"
    old = headers[place]
    headers[place] = (*old[:4], at + len(content), len(names), *old[6:])
    end = at + len(content) + len(names)
    table = end + -end % 8
    fields = list(_HEADER.unpack_from(data))
    fields[6], fields[12] = table, len(headers)
    body = data[_HEADER.size :] + content + names + bytes(table - end)
    return _HEADER.pack(*fields) + body + b"".join(_SECTION.pack(*header) for header in headers)


def _headers(data: bytes) -> tuple[list[tuple[int, ...]], bytes]:
    """The section headers, and the names that they refer to."""
    if not is_elf(data) or len(data) < _HEADER.size:
        raise ValueError("not a 64-bit little-endian ELF file")
    fields = _HEADER.unpack_from(data)
    offset, size, count, place = fields[6], fields[11], fields[12], fields[13]
    if not offset or not count:
        return [], b""
    if size != _SECTION.size or offset + size * count > len(data) or place >= count:
        raise ValueError("the section headers lie outside of the file")
    headers = [_SECTION.unpack_from(data, offset + size * number) for number in range(count)]
    for _, kind, _, _, begin, length, *_ in headers:
        if kind not in (0, _NOBITS) and begin + length > len(data):
            raise ValueError("a section lies outside of the file")
    begin, length = headers[place][4:6]
    return headers, data[begin : begin + length]
