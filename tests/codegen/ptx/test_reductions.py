"""Reductions: every operator on every type, in memory and in registers, alone and between the threads of a warp."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tracecut.codegen.ptx.combinations import identity
from tracecut.codegen.ptx.job_body import Job
from tracecut.codegen.ptx.ptxas import assemble
from tracecut.codegen.ptx.register_reductions import lower_register_reductions
from tracecut.codegen.schedule.plan.range_function import Outlined, Reduction
from tracecut.ir.llvm import Block, Instruction
from tracecut.support.errors import UnsupportedError

from .ptx_support import HostKernel, arguments_of, run_range, subject

OPERATORS = {
    "add": "a[k] += x[i]",
    "subtract": "a[k] -= x[i]",
    "and": "a[k] &= x[i]",
    "or": "a[k] |= x[i]",
    "xor": "a[k] ^= x[i]",
    "smallest": "a[k] = a[k] < x[i] ? a[k] : x[i]",
    "largest": "a[k] = a[k] > x[i] ? a[k] : x[i]",
    "times": "a[k] *= x[i]",
    "maybe": "a[k] = x[i] & 1 ? a[k] + x[i] : a[k]",
    "replaced": "if (x[i] < a[k]) a[k] = x[i]",
}
FLOATING = {
    "add": "a[k] += x[i]",
    "subtract": "a[k] -= x[i] * 2",
    "fused": "a[k] = __builtin_fma{f}(x[i], x[i], a[k])",
    "twice": "a[k] = a[k] + x[i] - 3",
    "times": "a[k] *= x[i]",
    "smallest": "a[k] = __builtin_fmin{f}(a[k], x[i])",
    "largest": "a[k] = __builtin_fmax{f}(a[k], x[i])",
    "maybe": "a[k] = x[i] > 1 ? a[k] + x[i] : a[k]",
    "selected": "a[k] = x[i] > a[k] ? x[i] : a[k]",
    "replaced": "if (x[i] < a[k]) a[k] = x[i]",
    "widened": "a[k] = a[k] + x[i] * 0.5",
}
INTEGERS = {"int": "i4", "unsigned": "u4", "long": "i8", "ulong": "u8", "uchar": "u1", "short": "i2"}
REALS = {"float": "f4", "double": "f8"}
NATIVE = {"add": "add", "subtract": "add", "and": "and", "or": "or", "xor": "xor", "smallest": "min", "largest": "max"}
NATIVE |= {"maybe": "add", "replaced": "min"}


def _memory_source() -> str:
    """A function for each type, with a statement and an array for each operator."""
    lines = ["typedef unsigned long ulong;", "typedef unsigned char uchar;"]
    for type in (*INTEGERS, *REALS):
        operators = OPERATORS if type in INTEGERS else FLOATING
        arrays = ", ".join(f"{type} *{name}" for name in operators)
        body = "".join(
            re.sub(r"\ba\b", name, text.format(f="f" if type == "float" else "")) + "; "
            for name, text in operators.items()
        )
        lines.append(
            f"void all_{type}(long n, const int *key, const {type} *x, {arrays}) "
            f"{{ for (long i = 0; i < n; i++) {{ int k = key[i]; {body}}} }}"
        )
    return "\n".join(lines)


SOURCE = _memory_source()


@pytest.mark.parametrize("type", [*INTEGERS, *REALS])
def test_memory_operators(type: str) -> None:
    """The host's results, and atomic operations of the expected kinds."""
    random = np.random.default_rng(3)
    dtype = np.dtype((INTEGERS | REALS)[type])
    operators = OPERATORS if type in INTEGERS else FLOATING
    jobs, data = 60, 7
    low, high = 0 if dtype.kind == "u" else -30, 30
    given = {"key": random.integers(0, data, jobs, dtype=np.int32), "x": random.integers(low, high, jobs).astype(dtype)}
    given |= {name: random.integers(low, high, data).astype(dtype) for name in operators}
    if dtype.kind == "f":
        given["selected"][0] = given["replaced"][0] = np.nan  # stays: no comparison with it is true
    loop = subject(SOURCE, f"all_{type}")
    expected = {key: value.copy() for key, value in given.items()}
    run_range(loop, jobs, {"n": jobs, **expected})
    kernel = loop.emit(disjoint=loop.reads())
    HostKernel(kernel).launch(arguments_of(loop, kernel, jobs, {"n": jobs, **given}), jobs)
    for name in operators:
        np.testing.assert_allclose(given[name], expected[name], rtol=1e-5 if dtype.kind == "f" else 0, err_msg=name)
    wanted = Counter(_kind(name, dtype) for name in operators)
    for kind, count in wanted.items():
        assert kernel.ptx.count(f"\t{kind}") >= count, (kind, count, kernel.ptx)
    assert kernel.ptx.count("\tatom.") == sum(wanted.values())
    assert "ld.global.nc" in kernel.ptx
    # That a sum does not overflow was promised of the old value, not of the zero in its place.
    assert not re.search(r"n[us]w \w+ (?:0|-?1),", kernel.llvm.partition("tc.job:")[2].partition("br label")[2])


def _kind(operator: str, dtype: Any) -> str:
    """The PTX operation that an operator has to become."""
    bits = 8 * dtype.itemsize
    if dtype.kind == "f" and operator in ("add", "subtract", "fused", "twice", "maybe"):
        return f"atom.global.add.f{bits}"
    if dtype.kind == "f" and operator == "widened" and bits == 64:
        return "atom.global.add.f64"
    if dtype.kind in "iu" and bits >= 32 and operator in NATIVE:
        letter = "b" if operator in ("and", "or", "xor") else dtype.kind.replace("i", "s")
        if NATIVE[operator] == "add":
            letter = "u"
        return f"atom.global.{NATIVE[operator]}.{letter}{bits}"
    return f"atom.relaxed.gpu.global.cas.b{max(32, bits)}"  # a smaller one is done on the word around it


REGISTERS = """
double fsum(long n, const double *x) { double s = 3; for (long i = 0; i < n; i++) s += x[i] * x[i]; return s; }
float narrow(long n, const double *x) { float s = 1; for (long i = 0; i < n; i++) s += x[i]; return s; }
double product(long n, const double *x) { double s = 2; for (long i = 0; i < n; i++) s *= 1 + x[i] / 64; return s; }
double top(long n, const double *x)
{ double s = -1; for (long i = 0; i < n; i++) s = __builtin_fmax(s, x[i]); return s; }
int isum(long n, const double *x) { int s = 5; for (long i = 0; i < n; i++) s += (int)x[i]; return s; }
long lsum(long n, const double *x) { long s = 5; for (long i = 0; i < n; i++) s -= (long)x[i]; return s; }
double shortest(long n, const double *x)
{ double s = 20; for (long i = 0; i < n; i++) s = x[i] < s ? x[i] : s; return s; }
float steepest(long n, const double *x)
{ float s = 1; for (long i = 0; i < n; i++) { float v = x[i]; s = v >= s ? v : s; } return s; }
int least(long n, const double *x)
{ int s = 99; for (long i = 0; i < n; i++) { int v = (int)x[i]; s = v < s ? v : s; } return s; }
signed char lowest(long n, const signed char *x)
{ signed char s = 99; for (long i = 0; i < n; i++) s = x[i] < s ? x[i] : s; return s; }
unsigned most(long n, const double *x)
{ unsigned s = 0; for (long i = 0; i < n; i++) { unsigned v = (int)x[i] & 63; s = v > s ? v : s; } return s; }
int any(long n, const double *x) { _Bool s = 0; for (long i = 0; i < n; i++) s |= x[i] > 28; return s; }
unsigned char parity(long n, const double *x)
{ unsigned char s = 7; for (long i = 0; i < n; i++) s ^= (unsigned char)(int)x[i]; return s; }
int imul(long n, const double *x) { int s = 3; for (long i = 0; i < n; i++) s *= (int)x[i] | 1; return s; }
double nested(long n, const double *x)
{ double s = 0; for (long i = 0; i < n; i++) for (long j = 0; j < i % 4; j++) s += x[i] * j; return s; }
"""
FUNCTIONS = re.findall(r"^[\w ]+ (\w+)\(long", REGISTERS, re.MULTILINE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_register_reduction(name: str) -> None:
    """The cell ends with what the host computes, also where a block has a part of a warp and threads without a job."""
    random = np.random.default_rng(4)
    jobs = 83
    numbers = random.integers(-30, 30, jobs)
    arrays = {"n": jobs, "x": numbers.astype("i1" if name == "lowest" else "f8")}
    loop = subject(REGISTERS, name)
    kernel = loop.emit(disjoint=loop.reads())
    (parameter,) = (item for item in kernel.parameters if item.kind == "reduction")
    (reduction,) = loop.outlined().reductions
    start = _start(loop, reduction.phi)
    dtypes = {"i1": "u1", "i8": "u1", "i32": "i4", "i64": "i8", "float": "f4", "double": "f8"}
    expected = np.array([start], dtypes[reduction.type])
    run_range(loop, jobs, arrays, [expected])
    host = HostKernel(kernel)
    order = np.arange(jobs, dtype=np.int32)
    for block in (1, 44, 64):
        cell = np.array([start], dtypes[parameter.type])
        arguments = arguments_of(loop, kernel, jobs, arrays, order=order, cells=[cell])
        host.launch(arguments, jobs, block=block)
        # Of an integer that is narrower than its cell, the rest of the cell has no meaning.
        tolerance = 1e-5 if parameter.type == "float" else 1e-13
        np.testing.assert_allclose(cell.astype(expected.dtype), expected, rtol=tolerance)
    assert parameter.operator == reduction.operator
    assert kernel.ptx.count("shfl.sync.down.b32") in (5, 10)
    assert len(re.findall(r"\batom\.", kernel.ptx)) == 1


def _start(loop: Any, phi: str) -> float:
    view, _, inside = loop.parts
    made = view.definitions[phi].instruction
    (text,) = (o.text for o, label in zip(made.operands, made.labels, strict=True) if label not in inside.blocks)
    return {"false": 0.0, "true": 1.0}.get(text) if text in ("false", "true") else float(text)


def test_a_kernel_with_reductions_assembles() -> None:
    report = assemble(subject(REGISTERS, "fsum").emit().ptx)
    assert report.spill_store_bytes == 0 and 0 < report.registers <= 32


@pytest.mark.parametrize("type", ["i8", "i32", "i64"])
@pytest.mark.parametrize("operator", ["add", "mul", "and", "or", "xor", "smin", "smax", "umin", "umax"])
def test_identity_of_integers(operator: str, type: str) -> None:
    bits = int(type[1:])
    mask = (1 << bits) - 1
    neutral = int(identity(operator, type))

    def signed(value: int) -> int:
        return value - (1 << bits) if value >> (bits - 1) else value

    functions = {
        "add": lambda a, b: a + b,
        "mul": lambda a, b: a * b,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "smin": lambda a, b: min(signed(a), signed(b)),
        "smax": lambda a, b: max(signed(a), signed(b)),
        "umin": min,
        "umax": max,
    }
    for value in (0, 1, 5, mask, mask >> 1, (mask >> 1) + 1):
        assert functions[operator](value, neutral & mask) & mask == value


PACKED = """
struct __attribute__((packed)) odd { char c; double d; };
void packed(long n, const int *key, struct odd *a) { for (long i = 0; i < n; i++) a[key[i]].d += 1; }
"""


def test_unaligned_memory_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="unaligned memory, for which there is no atomic operation"):
        subject(PACKED, "packed").emit()


def test_extremes_of_another_width_are_refused() -> None:
    """The smallest of wider numbers need not be what is left of the smallest of narrow ones."""
    lines = [
        "%wide = zext i8 %sum.tc.start to i32",
        "%least = call i32 @llvm.smin.i32(i32 %wide, i32 %x)",
        "%next = trunc i32 %least to i8",
        "br label %tc.done",
    ]
    job = Job([Block("tc.job", [Instruction(line) for line in lines])], {"%sum": "%next"})
    outlined = Outlined("range", "", (), (), (Reduction("%sum", "i8", "smin", 0, 0),))
    with pytest.raises(UnsupportedError, match="computed in another width"):
        lower_register_reductions(job, outlined)
