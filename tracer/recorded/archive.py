"""Members of `ar` archives, as GNU and BSD tools write them. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Iterator

_MAGIC = b"!<arch>\n"
_HEADER = 60


def is_archive(data: bytes) -> bool:
    """Whether bytes begin like an archive that holds its members itself."""
    return data.startswith(_MAGIC)


def members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """(name, bytes) of each member; tables of names and symbols are left out. A damaged rest ends it."""
    at, names = len(_MAGIC), b""
    while at + _HEADER <= len(data):
        name = data[at : at + 16].rstrip()
        try:
            size = int(data[at + 48 : at + 58])
        except ValueError:
            return
        begin = at + _HEADER
        body = data[begin : begin + size]
        at = begin + size + size % 2
        if name == b"//":
            names = body
        elif name.startswith(b"#1/"):
            length = int(name[3:])
            yield body[:length].rstrip(b"\0").decode(errors="replace"), body[length:]
        elif name not in (b"/", b"/SYM64/", b"__.SYMDEF"):
            if name.startswith(b"/"):
                place = int(name[1:])
                name = names[place : names.find(b"\n", place)]
            yield name.rstrip(b"/").decode(errors="replace"), body
