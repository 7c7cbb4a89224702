"""The process that LLVM's NVPTX backend runs in.

`python -m tracecut.codegen.ptx.nvptx_worker IR PTX KERNEL ARCH [LIBDEVICE]` reads a textual module and writes the PTX
of one kernel. The exit status is 0, or 1 with the reason on stderr.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from .math_calls import is_native
from .nvptx import LAYOUT, TRIPLE

LEVEL = 3


class Refused(Exception):
    """The module must not be given to the backend."""


def main(arguments: list[str]) -> int:
    """Emit one kernel."""
    source, target, kernel, arch, *library = arguments
    try:
        ptx = emit(Path(source).read_text(), kernel, arch, Path(library[0]).read_bytes() if library else None)
    except (Refused, RuntimeError, OSError) as error:
        print(f"refused: {str(error).strip()}", file=sys.stderr)
        return 1
    Path(target).write_text(ptx)
    return 0


def emit(text: str, kernel: str, arch: str, libdevice: bytes | None) -> str:
    """PTX of a module. Raises RuntimeError for text that is not valid, Refused for what the backend would die of."""
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = binding.parse_assembly(text)
    module.verify()
    machine = binding.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=LEVEL)
    if libdevice is not None:
        _bind(binding, module, libdevice, kernel)
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=LEVEL))
    builder.getModulePassManager().run(module, builder)
    unknown = sorted(
        function.name
        for function in module.functions
        if function.is_declaration and not (function.name.startswith("llvm.") and is_native(function.name))
    )
    if unknown:
        raise Refused(f"{', '.join(unknown)} is not known on the device")
    return str(machine.emit_assembly(module))


def _bind(binding: Any, module: Any, libdevice: bytes, kernel: str) -> None:
    """Link libdevice and hide all but the kernel, so that the optimiser drops what is not used."""
    library = binding.parse_bitcode(libdevice)
    library.triple, library.data_layout = TRIPLE, LAYOUT
    module.link_in(library)
    for item in (*module.functions, *module.global_variables):
        if not item.is_declaration and item.name != kernel:
            item.linkage = "internal"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
