"""Source lines of instructions, read from the textual debug information."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath

from .control_flow import ControlFlow, Loop
from .instruction import Instruction
from .module import Block

SYSTEM = re.compile(r"^/usr/|/include/c\+\+/|/ziglang/lib/")


@dataclass(frozen=True)
class Place:
    """A source position. `inlined_at` is where the function that holds it was inlined."""

    file: str
    line: int
    column: int = 0
    function: str = ""
    inlined_at: Place | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def own(self) -> Place:
        """The line of the program: for code from a system header, where it was inlined."""
        return next((place for place in self.chain() if not SYSTEM.search(place.file)), self)

    @property
    def told(self) -> str:
        """The same as text, with the line of the system header in parentheses."""
        own = self.own
        return str(self) if own is self else f"{own} (inlined from {PurePath(self.file).name}:{self.line})"

    def chain(self) -> list[Place]:
        """This place and the call sites it was inlined through, innermost first."""
        found: list[Place] = [self]
        while found[-1].inlined_at is not None:
            found.append(found[-1].inlined_at)
        return found


class Lines:
    """Resolves `!dbg` nodes of one module."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self._nodes = metadata
        self._known: dict[str, Place | None] = {}
        self._files: dict[str, str] = {}

    def place(self, node: str | None) -> Place | None:
        """Position of a `!DILocation` node such as `!17`; None when there is none."""
        if node is None:
            return None
        if node not in self._known:
            self._known[node] = None
            self._known[node] = self._resolve(node)
        return self._known[node]

    def nearest(self, block: Block, instruction: Instruction) -> Place | None:
        """Position of an instruction of a block; where it has no line, as what was merged of several lines, of the
        next one in the block that has, or else of the last one before.
        """
        own = self.place(instruction.meta.get("dbg"))
        if own is not None and own.line:
            return own
        items = block.instructions
        at = next(place for place, item in enumerate(items) if item is instruction)
        places = (self.place(item.meta.get("dbg")) for item in (*items[at + 1 :], *reversed(items[:at])))
        return next((found for found in places if found is not None and found.line), own)

    def loop_start(self, node: str | None) -> Place | None:
        """First position that an `!llvm.loop` node names."""
        for reference in re.findall(r"![0-9]+", self._nodes.get(node or "", ""))[1:]:
            if "DILocation(" in self._nodes.get(reference, ""):
                return self.place(reference)
        return None

    def loop_place(self, flow: ControlFlow, loop: Loop) -> Place | None:
        """Where a loop begins: what its latches say, else the first position in it that has a line."""
        for latch in loop.latches:
            found = self.loop_start(flow.blocks[latch].terminator.meta.get("llvm.loop"))
            if found is not None:
                return found
        for name in (loop.header, *sorted(loop.blocks, key=flow.rank)):
            for instruction in flow.blocks[name].instructions:
                found = self.place(instruction.meta.get("dbg"))
                if found is not None and found.line:
                    return found
        return None

    def _resolve(self, node: str) -> Place | None:
        text = self._nodes.get(node, "")
        if "DILocation(" not in text:
            return None
        scope = _reference(text, "scope")
        inlined = _reference(text, "inlinedAt")
        file, function = self._scope(scope)
        return Place(
            file,
            _number(text, "line"),
            _number(text, "column"),
            function,
            self.place(inlined) if inlined else None,
        )

    def _file(self, node: str) -> str:
        """Name of the file of a `!DIFile` node."""
        if node not in self._files:
            text = self._nodes.get(node, "")
            self._files[node] = _found(_string(text, "directory"), _string(text, "filename"))
        return self._files[node]

    def _scope(self, node: str | None) -> tuple[str, str]:
        file = ""
        for _ in range(1000):
            text = self._nodes.get(node or "", "")
            found = _reference(text, "file")
            if found and not file:
                file = self._file(found)
            if "DISubprogram(" in text or not text:
                return file, _string(text, "name")
            node = _reference(text, "scope")
        return file, ""


def _found(directory: str, name: str) -> str:
    """A name that leads to the file from the current folder. The compiler's are relative to a folder of its choice.

    Names of files that are not there (of another machine, of another time) stay as they are.
    """
    here = str(Path.cwd())
    whole = Path(directory, name)
    if directory == here or not Path(directory).is_absolute() or not whole.is_file():
        return name
    return str(whole.relative_to(here)) if whole.is_relative_to(here) else str(whole)


def _number(text: str, key: str) -> int:
    found = re.search(rf"\b{key}: (\d+)", text)
    return int(found.group(1)) if found else 0


def _reference(text: str, key: str) -> str | None:
    found = re.search(rf"\b{key}: (![0-9]+)", text)
    return found.group(1) if found else None


def _string(text: str, key: str) -> str:
    found = re.search(rf'\b{key}: "((?:[^"\\]|\\.)*)"', text)
    if found is None:
        return ""
    return re.sub(r"\\([0-9A-Fa-f]{2})", lambda code: chr(int(code.group(1), 16)), found.group(1)).replace("\\\\", "\\")
