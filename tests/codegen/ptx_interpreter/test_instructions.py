"""What single instructions of the interpreter do, beside the PTX manual's words and Python's exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from .machine import Place, interpret
from .one_instruction import holds, module, result
from .parse import PtxError, parse
from .rounding import directed, rounded

pytestmark = pytest.mark.quick

NAN, INF = math.nan, math.inf
LEAST = -(1 << 31)

EQUAL: list[tuple[str, str, tuple[Any, ...], Any]] = [
    # wrapping
    ("add.s32", "s32 s32 s32", (2**31 - 1, 1), LEAST),
    ("sub.s64", "s64 s64 s64", (-(2**63), 1), 2**63 - 1),
    ("neg.s32", "s32 s32", (LEAST,), LEAST),
    ("mul.lo.s32", "s32 s32 s32", (65537, 65537), 131073),
    ("mul.hi.u32", "u32 u32 u32", (2**32 - 1, 2**32 - 1), 2**32 - 2),
    ("mul.hi.s64", "s64 s64 s64", (-(2**63), 2), -1),
    ("mul.wide.s32", "s64 s32 s32", (-3, 2**30), -3 * 2**30),
    ("mul.wide.u32", "u64 u32 u32", (2**32 - 1, 2**32 - 1), (2**32 - 1) ** 2),
    ("mad.lo.s32", "s32 s32 s32 s32", (-7, 6, 1), -41),
    ("mad.wide.u32", "u64 u32 u32 u64", (2**31, 4, 5), 2**33 + 5),
    ("div.s32", "s32 s32 s32", (-7, 2), -3),
    ("rem.s32", "s32 s32 s32", (-7, 2), -1),
    ("div.s32", "s32 s32 s32", (LEAST, -1), LEAST),
    ("rem.u64", "u64 u64 u64", (2**64 - 1, 10), 5),
    # shifts by the width or more
    ("shl.b32", "u32 u32 u32", (1, 31), 2**31),
    ("shl.b32", "u32 u32 u32", (1, 32), 0),
    ("shl.b64", "u64 u64 u32", (1, 33), 2**33),
    ("shr.u32", "u32 u32 u32", (2**31, 40), 0),
    ("shr.s32", "s32 s32 u32", (-8, 1), -4),
    ("shr.s32", "s32 s32 u32", (-8, 32), -1),
    ("shr.s64", "s64 s64 u32", (2**62, 4000), 0),
    ("shf.l.wrap.b32", "u32 u32 u32 u32", (0x80000000, 1, 33), 3),
    ("shf.r.clamp.b32", "u32 u32 u32 u32", (1, 7, 40), 7),
    # bits
    ("bfe.u32", "u32 u32 u32 u32", (0xABCD, 4, 8), 0xBC),
    ("bfe.s32", "s32 u32 u32 u32", (0xF0, 4, 4), -1),
    ("bfe.u32", "u32 u32 u32 u32", (2**31, 31, 5), 1),
    ("bfi.b32", "u32 u32 u32 u32 u32", (0xFF, 0, 4, 4), 0xF0),
    ("prmt.b32", "u32 u32 u32 u32", (0x03020100, 0x07060504, 0x7531), 0x07050301),
    ("prmt.b32", "u32 u32 u32 u32", (0x80, 0, 0x0008), 0x808080FF),
    ("popc.b64", "u32 u64", (2**64 - 1,), 64),
    ("clz.b32", "u32 u32", (0,), 32),
    ("brev.b32", "u32 u32", (1,), 2**31),
    ("not.b32", "u32 u32", (0,), 2**32 - 1),
    ("min.s32", "s32 s32 s32", (-1, 1), -1),
    ("min.u32", "u32 u32 u32", (2**32 - 1, 1), 1),
    # floating point: rounding, signs, NaN
    ("add.rn.f64", "f64 f64 f64", (1.0, 2**-53), 1.0),
    ("add.rp.f64", "f64 f64 f64", (1.0, 2**-60), 1.0 + 2**-52),
    ("add.rz.f32", "f32 f32 f32", (-1.0, -(2.0**-30)), -1.0),
    ("add.rm.f32", "f32 f32 f32", (-1.0, -(2.0**-30)), -1.0 - 2**-23),
    ("mul.rz.f64", "f64 f64 f64", (1e308, 10.0), 1.7976931348623157e308),
    ("mul.rn.f64", "f64 f64 f64", (1e308, 10.0), INF),
    ("fma.rn.f64", "f64 f64 f64 f64", (1 + 2**-30, 1 - 2**-30, -1.0), -(2**-60)),
    ("fma.rn.f32", "f32 f32 f32 f32", (1 + 2**-13, 1 - 2**-13, -1.0), -(2**-26)),
    ("sqrt.rn.f64", "f64 f64", (2.0,), math.sqrt(2)),
    ("div.rn.f32", "f32 f32 f32", (1.0, 3.0), float(np.float32(1) / np.float32(3))),
    ("max.f64", "f64 f64 f64", (NAN, 1.0), 1.0),
    ("min.f64", "f64 f64 f64", (1.0, NAN), 1.0),
    ("max.NaN.f64", "f64 f64 f64", (1.0, NAN), NAN),
    ("max.f32", "f32 f32 f32", (-0.0, 0.0), 0.0),
    ("min.f32", "f32 f32 f32", (0.0, -0.0), -0.0),
    ("add.ftz.f32", "f32 f32 f32", (1e-40, 1e-40), 0.0),
    ("neg.f64", "f64 f64", (0.0,), -0.0),
    ("copysign.f64", "f64 f64 f64", (-0.0, 3.0), -3.0),
    ("rcp.approx.ftz.f64", "f64 f64", (4.0,), 0.25),
    ("ex2.approx.ftz.f32", "f32 f32", (3.0,), 8.0),
    # conversions
    ("cvt.rzi.s32.f64", "s32 f64", (-2.9,), -2),
    ("cvt.rni.s32.f32", "s32 f32", (2.5,), 2),
    ("cvt.rmi.s32.f64", "s32 f64", (-2.1,), -3),
    ("cvt.rpi.s32.f64", "s32 f64", (-2.9,), -2),
    ("cvt.rzi.s32.f64", "s32 f64", (1e20,), 2**31 - 1),
    ("cvt.rzi.u32.f64", "u32 f64", (-5.0,), 0),
    ("cvt.rzi.s64.f64", "s64 f64", (-INF,), -(2**63)),
    ("cvt.rzi.s32.f32", "s32 f32", (NAN,), 0),
    ("cvt.rzi.s32.f64", "s32 f64", (NAN,), LEAST),
    ("cvt.rzi.u64.f32", "u64 f32", (NAN,), 2**63),
    ("cvt.rn.f32.s64", "f32 s64", (2**24 + 1,), 2.0**24),
    ("cvt.rp.f32.s64", "f32 s64", (2**24 + 1,), 2.0**24 + 2),
    ("cvt.rn.f64.u64", "f64 u64", (2**64 - 1,), 2.0**64),
    ("cvt.rz.f64.u64", "f64 u64", (2**64 - 1,), 2.0**64 - 2048),
    ("cvt.rn.f32.f64", "f32 f64", (1 + 2**-25,), 1.0),
    ("cvt.rz.f32.f64", "f32 f64", (1e300,), float(np.finfo(np.float32).max)),
    ("cvt.f64.f32", "f64 f32", (0.1,), float(np.float32(0.1))),
    ("cvt.rni.f64.f64", "f64 f64", (3.5,), 4.0),
    ("cvt.s64.s32", "s64 s32", (-1,), -1),
    ("cvt.u64.u32", "u64 u32", (2**32 - 1,), 2**32 - 1),
    ("cvt.u32.u64", "u32 u64", (2**40 + 7,), 7),
    ("cvt.s32.s8", "s32 s32", (0x180,), -128),
    ("cvt.sat.u16.s32", "u16 s32", (70000,), 65535),
    ("cvt.sat.f32.f32", "f32 f32", (7.0,), 1.0),
]


@pytest.mark.parametrize(("op", "types", "values", "expected"), EQUAL, ids=lambda part: str(part)[:32])
def test_results(op: str, types: str, values: tuple[Any, ...], expected: Any) -> None:
    found = result(op, types, *values)
    same = math.isnan(found) if isinstance(expected, float) and math.isnan(expected) else found == expected
    assert same and (found != 0 or math.copysign(1, found) == math.copysign(1, expected))


HOLDS = [
    ("setp.lt.s32", "s32 s32", (-1, 0), True),
    ("setp.lt.u32", "s32 s32", (-1, 0), False),
    ("setp.hi.u32", "s32 s32", (-1, 0), True),
    ("setp.eq.f64", "f64 f64", (NAN, NAN), False),
    ("setp.ne.f64", "f64 f64", (NAN, 1.0), False),
    ("setp.neu.f64", "f64 f64", (NAN, 1.0), True),
    ("setp.equ.f64", "f64 f64", (1.0, NAN), True),
    ("setp.nan.f32", "f32 f32", (1.0, NAN), True),
    ("setp.num.f32", "f32 f32", (1.0, 2.0), True),
    ("setp.eq.f64", "f64 f64", (0.0, -0.0), True),
    ("testp.subnormal.f32", "f32", (1e-40,), True),
    ("testp.infinite.f64", "f64", (NAN,), False),
]


@pytest.mark.parametrize(("op", "types", "values", "expected"), HOLDS)
def test_predicates(op: str, types: str, values: tuple[Any, ...], expected: bool) -> None:
    assert holds(op, types, *values) is expected


@pytest.mark.parametrize("type", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "fma", "sqrt", "rcp"])
def test_the_nearest_in_exact_numbers_is_the_processors(type: Any, name: str) -> None:
    """The slow way of every direction, to the nearest, beside the processor's own rounding."""
    rng = np.random.default_rng(3)
    count = {"fma": 3, "sqrt": 1, "rcp": 1}.get(name, 2)
    given = [(rng.normal(size=200) * 10.0 ** rng.integers(-12, 12, 200)).astype(type) for _ in range(count)]
    given[0][:3] = [0, -0.0, INF]
    if name == "fma":
        exact = [a * b + c for a, b, c in zip(*(map(Fraction, map(float, one[3:])) for one in given), strict=True)]
        expected = [rounded(one, type, "rn") for one in exact]
        assert directed("fma", "rn", given)[3:].tolist() == expected
        return
    if name == "sqrt":
        given[0] = np.abs(given[0])
    with np.errstate(all="ignore"):
        work = {"sqrt": np.sqrt, "rcp": lambda a: type(1) / a, "add": np.add, "sub": np.subtract}
        expected = (work | {"mul": np.multiply, "div": np.divide})[name](*given)
        found = directed(name, "rn", given)
        low, high, short = (directed(name, way, given) for way in ("rm", "rp", "rz"))
    assert found.tobytes() == np.asarray(expected).tobytes()
    assert (low <= found).all() and (found <= high).all()
    assert np.array_equal(np.abs(short), np.minimum(np.abs(low), np.abs(high)))


UNKNOWN = {
    "an instruction": ["frob.b32 %r1, %r2;"],
    "a modifier": ["add.sat.s32 %r1, %r2, %r3;"],
    "a rounding": ["cvt.rn.s32.f32 %r1, %r2;"],
    "no rounding": ["cvt.f32.f64 %r1, %rd1;"],
    "a comparison": ["setp.odd.s32 %p1, %r1, %r2;"],
    "a type": ["add.b128 %r1, %r2, %r3;"],
    "a hint": ["ld.global.L3::all.b32 %r1, [%rd0];"],
    "a register": ["mov.u32 %r1, %clock;"],
    "a label": ["bra $L_nowhere;"],
    "an address": ["ld.global.b32 %r1, [nobody];"],
    "a shuffle": ["shfl.sync.sideways.b32 %r1, %r2, 1, 31, -1;"],
    "an operation": ["atom.global.inc.u32 %r1, [%rd0], 3;"],
    "a call": ["call.uni stranger;"],
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_it_does_not_know_is_an_error_with_its_line(name: str) -> None:
    text = module(UNKNOWN[name])
    line = 1 + next(n for n, one in enumerate(text.splitlines()) if one.strip() == UNKNOWN[name][0])
    with pytest.raises(PtxError, match=rf"line {line}: "):
        interpret(text, [np.zeros(8)], [Place(0)], 1, 1)


WRONG = {
    "division by zero": (["mov.b32 %r1, 0;", "div.s32 %r2, %r1, %r1;"], "divides by zero"),
    "behind the array": (["ld.global.b64 %rd1, [%rd0+64];"], "an access of 8 bytes at byte 64"),
    "no multiple": (["ld.global.b64 %rd1, [%rd0+4];"], "no multiple of 8"),
    "nowhere": (["mov.b64 %rd1, 8;", "ld.global.b32 %r1, [%rd1];"], "in no array"),
    "shared memory that is empty": (["ld.shared.b32 %r1, [s];"], "nothing was written to"),
    "a narrow register": (["st.global.b64 [%rd0], %r1;"], "fewer than 64 bits"),
    "no stranger at a barrier": (
        ["mov.u32 %r1, %tid.x;", "setp.eq.s32 %p1, %r1, 0;", "@%p1 bar.sync 0;", "@!%p1 bar.sync 0;"],
        "not all threads come to",
    ),
    "an endless loop": (["$L_0:", "bra $L_0;"], "does not end"),
}


@pytest.mark.parametrize("name", WRONG)
def test_faults_of_kernels_are_errors(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.codegen.ptx_interpreter.machine.MOST", 1000)
    body, reason = WRONG[name]
    text = module(body, top=".shared .align 4 .b8 s[16];")
    with pytest.raises(PtxError, match=reason):
        interpret(text, [np.zeros(8)], [Place(0)], 1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        module(["ret"]),
        module([".frob 3;"]),
        module([".reg .b64 %r<3>;"]),
        module([]).replace("\tret;\n}", "\tret;"),
    ],
)
def test_texts_that_are_no_kernel_are_refused(text: str) -> None:
    with pytest.raises(PtxError):
        parse(text)


def test_threads_hand_each_other_values() -> None:
    body = [
        "mov.u32 %r1, %tid.x;",
        "mul.wide.u32 %rd1, %r1, 4;",
        "add.s64 %rd1, %rd1, %rd0;",
        "shfl.sync.down.b32 %r2, %r1, 1, 31, -1;",
        "shfl.sync.bfly.b32 %r3, %r2, 2, 31, -1;",
        "setp.gt.u32 %p1, %r1, 5;",
        "vote.sync.ballot.b32 %r4, %p1, -1;",
        "add.s32 %r5, %r3, %r4;",
        "st.global.b32 [%rd1], %r5;",
    ]
    out = np.zeros(8, np.int32)
    for apart in (False, True):
        interpret(module(body), [out], [Place(0)], 1, 8, apart=apart)
        moved = np.array([1, 2, 3, 4, 5, 6, 7, -0x5A5A5A5B])  # from a thread that is not there: no value
        assert out.tolist() == (moved[np.arange(8) ^ 2] + 0xC0).tolist()


def test_blocks_meet_at_barriers_and_add_up() -> None:
    body = [
        "mov.u32 %r1, %tid.x;",
        "mul.wide.u32 %rd1, %r1, 4;",
        "mov.b64 %rd2, s;",
        "add.s64 %rd3, %rd2, %rd1;",
        "st.shared.b32 [%rd3], %r1;",
        "bar.sync 0;",
        "mov.b32 %r2, 60;",
        "sub.s32 %r3, %r2, %r1;",
        "ld.shared.b32 %r4, [s+60];",
        "atom.global.add.u32 %r5, [%rd0], %r4;",
        "red.global.max.s32 [%rd0+4], %r1;",
    ]
    for apart in (False, True):
        out = np.zeros(2, np.int32)
        interpret(module(body, top=".shared .align 4 .b8 s[64];"), [out], [Place(0)], 3, 16, apart=apart)
        assert out.tolist() == [3 * 16 * 15, 15]
