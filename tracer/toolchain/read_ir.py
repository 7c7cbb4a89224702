"""Reading foreign LLVM IR in a process of its own: a third of damaged bitcode files kill whoever parses them.

`python -m tracecut.tracer.toolchain.read_ir IN OUT` parses and verifies a `.ll` or `.bc` file, tries on it what will be
done with it later (our own parser, the passes, code generation), and prints it as text to OUT. What comes back has been
through all of that once, and harms nobody.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tracecut.support.errors import SourceError

from .bitcode import producer

SECONDS = 300.0
MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # plain, and in the wrapper that Apple's tools write


def read_ir(source: Path) -> str:
    """Text of an IR file. Raises SourceError naming what is wrong with it; the caller's process is never at risk."""
    from tracecut.support.process.runner import Limits, describe, private_folder, run

    with private_folder("tracecut-ir-") as folder:
        out = folder / "module.ll"
        command: list[str | Path] = [
            sys.executable,
            "-P",
            "-m",
            "tracecut.tracer.toolchain.read_ir",
            source.resolve(),
            out,
        ]
        finished = run(command, folder=folder, name="reader", limits=Limits(seconds=SECONDS))
        if finished.ok and out.exists():
            return out.read_text(errors="surrogateescape")
        lines = finished.stderr.read_text(errors="replace").strip().splitlines()
        end = describe(finished)
        how = "" if finished.returncode == 1 else f" (the reader {'was ' if end.startswith('killed') else ''}{end})"
        raise SourceError(
            f"{source} is no LLVM IR that this version can read{how}",
            detail="\n".join(lines[:5]),
            hint=_fix(source),
        )


def release_of(data: bytes) -> int | None:
    """LLVM major version that an IR file was made by: bitcode says so, text only when clang left its name."""
    if data.startswith(MAGIC):
        version = (producer(data) or "").partition(".")[0]
        return int(version) if version else None
    named = re.search(rb'!"[^"\n]*clang version ([0-9]{1,4})\.', data)
    return int(named.group(1)) if named else None


def _fix(source: Path) -> str:
    from .find_compilers import llvm_major

    made, ours = release_of(source.read_bytes()), llvm_major()
    if made is not None and made != ours:
        return (
            f"It was made by LLVM {made}, and llvmlite carries LLVM {ours}: make it with clang {ours}, "
            f"or compile the C source instead."
        )
    return f"It has to be whole, and made by LLVM {ours}, the release that llvmlite carries."


def read(data: bytes, suffix: str) -> str:
    """Parse and verify an IR file in this process, and rehearse what comes later.

    Raises RuntimeError, UnicodeError and SourceError; may end the process.
    """
    import llvmlite.binding as binding

    from .find_compilers import llvm_major
    from .passes import canonical, emit_object

    binding.initialize_native_target()
    layout = str(binding.Target.from_default_triple().create_target_machine().target_data)
    if suffix == ".bc" or data.startswith(MAGIC):
        made = release_of(data) if data.startswith(MAGIC) else None
        if made is not None and made > llvm_major():
            raise RuntimeError(f"bitcode of LLVM {made}, newer than LLVM {llvm_major()} can be sure to understand")
        module = binding.parse_bitcode(data)
    else:
        module = binding.parse_assembly(data.decode(errors="surrogateescape"))
    module.verify()
    if module.data_layout not in ("", layout):  # sizes and offsets would be others
        raise RuntimeError(f"it is made for another machine ({module.triple or module.data_layout})")
    module.data_layout = layout
    text = str(module)
    emit_object(text, optimise=False)
    emit_object(str(canonical([text])), optimise=True)
    return text


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        text = read(source.read_bytes(), source.suffix)
    except SourceError as error:
        print(error.detail or error.message, file=sys.stderr)
        sys.exit(1)
    except (RuntimeError, UnicodeError) as error:
        # LLVM's diagnostic calls the text "<string>": line and column are those of the file.
        print(str(error).strip().replace("<string>", source.name) or "not LLVM IR", file=sys.stderr)
        sys.exit(1)
    target.write_text(text, errors="surrogateescape")


if __name__ == "__main__":
    main()
