"""The code of `init + step · number` against the arithmetic of whole numbers that wrap around."""

from __future__ import annotations

import ctypes

import pytest
from llvmlite import binding
from tracecut.codegen.host.induction_values import affine
from tracecut.codegen.host.vector_versions import rounds_freely

pytestmark = pytest.mark.quick
BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64, "ptr": 64}


def run(type: str, init: int, step: int, number: int) -> int:
    """The value of what `affine` emits, without a sign."""
    inner = "i64" if type == "ptr" else type
    lines = "\n  ".join(affine(type, "%x", "%init", "%step", "%number", ".m"))
    text = f"define {type} @f({type} %init, {inner} %step, i64 %number) {{\n  {lines}\n  ret {type} %x\n}}\n"
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(text)
    module.verify()
    machine = binding.Target.from_default_triple().create_target_machine()
    with binding.create_mcjit_compiler(module, machine) as engine:
        engine.finalize_object()
        kind = {8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}[BITS[type]]
        function = ctypes.CFUNCTYPE(kind, kind, kind, ctypes.c_int64)(engine.get_function_address("f"))
        return int(function(init % (1 << BITS[type]), step % (1 << BITS[type]), number))


@pytest.mark.parametrize("type", BITS)
@pytest.mark.parametrize(
    ("init", "step", "number"), [(3, 5, 0), (3, 5, 7), (-1, -3, 1000), (200, 8, (1 << 40) + 3), (1, 1 << 62, 6)]
)
def test_values(type: str, init: int, step: int, number: int) -> None:
    assert run(type, init, step, number) == (init + step * number) % (1 << BITS[type])


@pytest.mark.parametrize(
    ("line", "free"),
    [
        ("%a = fadd fast double %x, %y", True),
        ("%a = fmul reassoc nsz double %x, %y", True),
        ("%a = call contract double @llvm.fma.f64(double %x, double %y, double %z)", True),
        ("%a = fadd nnan ninf nsz double %x, %y", False),
        ("%fast = fadd double %contract, %y", False),
        ("%a = call double @fast(double %reassoc)", False),
    ],
)
def test_flags_that_let_code_round_differently(line: str, free: bool) -> None:
    assert rounds_freely(line) == free
