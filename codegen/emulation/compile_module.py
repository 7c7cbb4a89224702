"""From the text of a module to machine code in this process, the machine of `machine.c` linked into it."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from tracecut.support.errors import InternalError, OutputError, SourceError, ToolchainError, UnsupportedError
from tracecut.support.files import write_atomic
from tracecut.tracer.runtime.compile_support import last_words, run_tool, support_object
from tracecut.tracer.toolchain.find_compilers import cache_home, compiler
from tracecut.tracer.toolchain.passes import host_features, host_name, parse

_HERE = Path(__file__).parent
MACHINE = ("machine.c", "warp.c", "events.c", "shadow.c")
ACCESSORS = "accessors.c"
ENTRIES = ("emu_phase", "emu_lanes")
_OPTIONS = "-S -emit-llvm -O2 -fPIC -w -fno-vectorize -fno-unroll-loops -fno-stack-protector".split()
# The processor that each function is for is the one of the whole module; what is kept apart cannot be inlined.
_PROCESSOR = re.compile(
    r'"(?:target-cpu|target-features|tune-cpu|no-builtins|min-legal-vector-width|probe-stack|'
    r'stack-protector-buffer-size|frame-pointer|no-trapping-math)"(?:="[^"]*")?'
)
# Products and sums stay apart, as the host's own loops have them: AVX-512 holds fused instructions too.
_NOT_FUSED = "-fma,-fma4,-avx512f"


class Code:
    """Machine code of a module: `address` is that of the launch. It lives as long as this object."""

    def __init__(self, text: str, *, parallel: bool, vectors: bool = True) -> None:
        """Optimise, emit and link. About 0.1 s; with `vectors` up to 2 s, of which LLVM's loop vectoriser takes most.

        Raises UnsupportedError when the module calls what no library of this process has.
        """
        import llvmlite.binding as binding

        module = _parsed(text)
        module.link_in(parse(accessors_text(), ACCESSORS))
        machine = _target_machine(binding)
        for function in module.functions:
            if function.is_declaration:
                _check_symbol(binding, function.name)
            elif function.name not in ENTRIES:
                function.linkage = "internal"
        passes = binding.create_new_module_pass_manager()
        if not parallel:  # one thread of the host runs it all: nobody else sees what is between
            passes.add_lower_atomic_pass()
        passes.add_always_inliner_pass()
        passes.add_global_dead_code_eliminate_pass()
        builder = binding.create_pass_builder(machine, _tuning(binding, vectors))
        passes.run(module, builder)
        builder.getModulePassManager().run(module, builder)
        self._engine = binding.create_mcjit_compiler(module, machine)
        for data in _machine_objects():
            self._engine.add_object_file(binding.ObjectFileRef.from_data(data))
        self._engine.finalize_object()
        self.address: int = self._engine.get_function_address("emu_launch")


@cache
def _machine_objects() -> list[bytes]:
    return [support_object(_HERE / name) for name in MACHINE]


@cache
def accessors_text() -> str:
    """What is made part of the kernel, as textual IR. Compiled once, and kept in the cache folder."""
    sources = [path.read_bytes() for path in sorted(_HERE.glob("*.[ch]"))]
    made_with = (_OPTIONS, _PROCESSOR.pattern, compiler().command, compiler().version)
    key = hashlib.sha256(repr((sources, made_with)).encode()).hexdigest()
    kept = cache_home() / "objects" / f"{key}.ll"
    with suppress(OSError, UnicodeDecodeError):
        text = kept.read_text()
        if text.endswith(_sealed(key)):
            return text
    text = _compiled(_HERE / ACCESSORS) + _sealed(key)
    with suppress(OSError, OutputError):  # it is made again next time
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomic(kept, lambda file: _write(file, text), sync=False)
    return text


def _write(file: BinaryIO, text: str) -> None:
    file.write(text.encode())


def _sealed(key: str) -> str:
    """The last line of a text that is whole."""
    return f"\n; {key}\n"


def _compiled(source: Path) -> str:
    with TemporaryDirectory(prefix="tracecut-build-") as folder:
        out = Path(folder) / "machine.ll"
        done = run_tool([*compiler().command, *_OPTIONS, "-o", str(out), str(source)])
        if done.returncode != 0 or not out.exists():
            raise ToolchainError(f"the emulation's {source.name} does not compile", detail=last_words(done))
        text = _PROCESSOR.sub("", out.read_text())
        return re.sub(r"^(attributes #\d+ = \{)", r"\1 nounwind", text, flags=re.MULTILINE)  # a group cannot be empty


def _parsed(text: str) -> Any:
    try:
        return parse(text, "the kernel as a host module")
    except SourceError as error:
        raise InternalError(error.message, detail=error.detail) from error


def _target_machine(binding: Any) -> Any:
    features = host_features()
    if _is_x86(binding):
        features = f"{features},{_NOT_FUSED}"
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=host_name(), features=features, opt=3, jit=True)


def _is_x86(binding: Any) -> bool:
    return str(binding.get_process_triple()).startswith(("x86_64", "i686"))


def _tuning(binding: Any, vectors: bool) -> Any:
    options = binding.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = vectors
    options.slp_vectorization = vectors
    return options


@cache
def _libraries() -> None:
    import ctypes.util

    import llvmlite.binding as binding

    name = ctypes.util.find_library("m")
    if name is not None:
        binding.load_library_permanently(name)


_OF_MACHINE = ("emu_", "more_", "shadow_", "check_slowly")


def _check_symbol(binding: Any, name: str) -> None:
    _libraries()
    if not name.startswith(("llvm.", *_OF_MACHINE)) and binding.address_of_symbol(name) is None:
        raise UnsupportedError(f"a kernel cannot run here: this CPU's libraries have no {name}")
