"""Reading foreign LLVM IR in a process of its own: a third of damaged bitcode files kill whoever parses them.

`python -m tracecut.tracer.worker IN OUT` parses and verifies a `.ll` or `.bc` file and prints it as text to OUT.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ..ir.errors import SourceError

SECONDS = 300.0


def read_ir(source: Path) -> str:
    """Text of an IR file. Raises SourceError naming what is wrong with it; the caller's process is never at risk."""
    from .runner import Limits, describe, private_folder, run

    with private_folder("tracecut-ir-") as folder:
        out = folder / "module.ll"
        command: list[str | Path] = [sys.executable, "-P", "-m", "tracecut.tracer.worker", source.resolve(), out]
        finished = run(command, folder=folder, name="reader", limits=Limits(seconds=SECONDS))
        if finished.ok and out.exists():
            return out.read_text(errors="surrogateescape")
        lines = finished.stderr.read_text(errors="replace").strip().splitlines()
        end = describe(finished)
        how = "" if finished.returncode == 1 else f" (the reader {'was ' if end.startswith('killed') else ''}{end})"
        raise SourceError(
            f"{source} is no LLVM IR that this version can read{how}",
            detail="\n".join(lines[:5]),
            hint="It has to be made by the LLVM release that llvmlite carries; compile the C source instead.",
        )


def main() -> None:
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    import llvmlite.binding as binding

    binding.initialize_native_target()
    layout = str(binding.Target.from_default_triple().create_target_machine().target_data)
    data = source.read_bytes()
    try:
        if source.suffix == ".bc":
            module = binding.parse_bitcode(data)
        else:
            module = binding.parse_assembly(data.decode(errors="surrogateescape"))
        module.verify()
        if module.data_layout not in ("", layout):  # sizes and offsets would be others
            raise RuntimeError(f"it is made for another machine ({module.triple or module.data_layout})")
        module.data_layout = layout
        text = str(module)
    except (RuntimeError, UnicodeError) as error:
        # LLVM's diagnostic calls the text "<string>": line and column are those of the file.
        print(str(error).strip().replace("<string>", source.name) or "not LLVM IR", file=sys.stderr)
        sys.exit(1)
    target.write_text(text, errors="surrogateescape")


if __name__ == "__main__":
    main()
