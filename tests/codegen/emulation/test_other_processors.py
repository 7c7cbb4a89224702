"""Nothing in a host module is of one processor: all forms of it are emitted for aarch64, too."""

from __future__ import annotations

import llvmlite.binding as binding
import pytest
from tracecut.codegen.emulation.compile_module import MACHINE
from tracecut.codegen.emulation.lowering.host_module import Form, make_module
from tracecut.codegen.emulation.lowering.kernel_text import read_kernel
from tracecut.codegen.emulation.lowering.memory_sites import find_accesses

from .kernels import PRELOAD
from .test_lowering import MACHINE as HEADER
from .test_run_kernel import TREE

FORMS = [
    Form(),
    Form(parallel=True, flat=False),
    Form(trace=True),
    Form(strict=True),
    Form(strict=True, races=True, trace=True),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", [PRELOAD, TREE], ids=["preload", "tree"])
def test_host_modules_for_aarch64(text: str, form: Form) -> None:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    kernel = read_kernel(text, "k")
    module = binding.parse_assembly(make_module(kernel, find_accesses(kernel, None), form).text)
    module.verify()
    machine = binding.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(opt=2)
    data = machine.emit_object(module)
    assert data[:4] == b"\x7fELF" and int.from_bytes(data[18:20], "little") == 183  # EM_AARCH64


def test_the_machine_has_no_assembly_and_no_processor_of_its_own() -> None:
    for name in (*MACHINE, "accessors.c", "machine.h"):
        text = (HEADER.parent / name).read_text()
        assert "asm" not in text and "__x86_64__" not in text and "immintrin" not in text, name
