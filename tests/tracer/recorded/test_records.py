"""Records of units and link lines survive linkers, and damage is seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tracecut.tracer.recorded.archive import is_archive, members
from tracecut.tracer.recorded.records import LinkLine, Unit, decode, encode

pytestmark = pytest.mark.quick
WORDS = st.lists(st.text(max_size=12), max_size=4).map(tuple)
UNITS = st.builds(Unit, st.text(), st.text(), st.sampled_from(["c", "c++"]), WORDS, st.text(), st.text())
RECORDS = st.lists(UNITS | st.builds(LinkLine, st.text(), WORDS), max_size=5)


@given(records=RECORDS, zeros=st.integers(0, 20))
def test_they_come_back(records: list[Unit | LinkLine], zeros: int) -> None:
    assert decode(b"".join(encode(record) + bytes(zeros) for record in records)) == records


def test_file_names_of_any_bytes() -> None:
    name = b"caf\xe9.c".decode(errors="surrogateescape")
    assert decode(encode(Unit(name, "/", "c", ("-DX=\udce9",)))) == [Unit(name, "/", "c", ("-DX=\udce9",))]


def test_damage_is_seen() -> None:
    data = encode(LinkLine("/folder", ("-lm",)))
    for bad in (data[:-1], data[:20], b"x" + data, data[:-3] + b"abc", data.replace(b"record 2", b"record 1")):
        with pytest.raises(ValueError, match="record"):
            decode(bad)


def _member(name: bytes, body: bytes) -> bytes:
    head = name.ljust(16) + b"0".ljust(12) + b"0".ljust(6) * 2 + b"644".ljust(8) + str(len(body)).encode().ljust(10)
    return head + b"`\n" + body + b"\n" * (len(body) % 2)


def test_members_of_archives() -> None:
    long = b"a_member_of_a_long_name.o/\nanother_one_of_a_long_name.o/\n"
    data = b"!<arch>\n" + b"".join(
        [
            _member(b"/", b"\0\0\0\0"),
            _member(b"//", long),
            _member(b"a.o/", b"odd"),
            _member(b"/0", b"even"),
            _member(b"/27", b""),
            _member(b"#1/8", b"bsd.o\0\0\0rest"),
        ]
    )
    assert is_archive(data) and not is_archive(b"!<thin>\n")
    assert list(members(data)) == [
        ("a.o", b"odd"),
        ("a_member_of_a_long_name.o", b"even"),
        ("another_one_of_a_long_name.o", b""),
        ("bsd.o", b"rest"),
    ]
    assert list(members(b"!<arch>\n" + b"?" * 60)) == []
