"""Instrumentation: a module is rewritten to record its own event stream.

The write position is an SSA value: a phi in each block, kept in a register by the code generator, and stored to the
thread-local `@tc_cursor` only where other code may need it (calls that may enter instrumented code, returns). A record
is reserved at once and stored to at fixed offsets; the address of an access is stored before the access, so that the
record of a crash holds it. One bit of the position tells that a chunk is full. It is tested after a bounded number of
words: at function entries, behind calls and at loop headers. See `runtime.c` for the layout of chunks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from tracecut.ir.llvm import Block, Instruction, Operand
from tracecut.tracer.trace.compact.segment import RETURNED_TWICE, Segment
from tracecut.tracer.trace.compact.segments import FunctionPlan, Plan, plan_of
from tracecut.tracer.trace.events.event_words import CHUNK_BITS, SLACK_WORDS, Kind, mask_words, words_of
from tracecut.tracer.trace.events.memory_operations import Item

from .compact_records import RegionWriter, RunWriter, redirect
from .dynamic_lengths import length_of
from .recorder_instructions import SHORT, Spelling
from .region_switch import ENTER
from .replaced_calls import with_replacements

_SELDOM = '!prof !{!"branch_weights", i32 1, i32 1048576}'
_DECLARES = {
    "@tce_string": "declare i64 @tce_string(ptr) nounwind",
    "@tce_string_up_to": "declare i64 @tce_string_up_to(ptr, i64) nounwind",
    "@tce_returned": "declare void @tce_returned(ptr) nounwind",
    "@llvm.frameaddress.p0": "declare ptr @llvm.frameaddress.p0(i32 immarg)",
    "@llvm.smax.i64": "declare i64 @llvm.smax.i64(i64, i64)",
    "@llvm.umin.i64": "declare i64 @llvm.umin.i64(i64, i64)",
    "@llvm.readcyclecounter": "declare i64 @llvm.readcyclecounter()",
    "@llvm.x86.sse2.lfence": "declare void @llvm.x86.sse2.lfence()",
}
_TIMED = ("load", "store", "atomicrmw", "cmpxchg")


def instrumented(
    text: str,
    functions: Collection[str] | None = None,
    *,
    timed: bool = False,
    fenced: bool = True,
    compact: bool = True,
) -> str:
    """Text of the instrumented module. Arguments and errors as of `static_tables.static_of`, whose ids it records.

    Args:
        fenced: whether time stamps stand between fences. compact: whether loops may be recorded compactly.
    """
    return rewritten(plan_of(text, functions, timed=timed, compact=compact), fenced=fenced)


def rewritten(plan: Plan, *, fenced: bool = True, spelling: Spelling = SHORT) -> str:
    """The instrumented text of a planned module, see `instrumented`. The module of the plan changes."""
    module, listed = plan.module, plan.globals
    for part in plan.parts:
        _Writer(part, timed=plan.timed, fenced=fenced, spelling=spelling).rewrite()
    declared = module.declarations
    pairs = ", ".join(f"{{ ptr, i64 }} {{ ptr {name}, i64 {size} }}" for name, size in listed)
    body = f"[{pairs}]" if listed else "zeroinitializer"
    module.append(f"@tce_globals = constant [{len(listed)} x {{ ptr, i64 }}] {body}, align 8")
    module.append(f"@tce_selects = constant i64 {int(f'@{ENTER}' in declared)}, align 8")
    module.append(f"@tce_global_count = constant i64 {len(listed)}, align 8")
    module.append(f"@tc_cursor = thread_local(localexec) global ptr inttoptr (i64 {1 << CHUNK_BITS} to ptr), align 8")
    for name, line in {**_DECLARES, **spelling.declares}.items():
        if name not in declared:
            module.append(line)
    return with_replacements(module)


class _Writer:
    """Rewrites one function."""

    def __init__(self, part: FunctionPlan, *, timed: bool, fenced: bool, spelling: Spelling) -> None:
        function, segments, runs, regions, ids = part.function, part.segments, part.runs, part.regions, part.first
        self.function = function
        self.timed, self.fenced, self.spelling = timed, fenced, spelling
        self.segments: dict[int, list[tuple[int, Segment]]] = {}
        for place, segment in enumerate(segments):
            self.segments.setdefault(segment.block, []).append((ids.segment + place, segment))
        self.names = {block.name: number for number, block in enumerate(function.blocks)}
        self.tails: dict[str, str] = {}  # block → the last block that it was split into
        self.positions: dict[str, str] = {}  # block → write position at its end
        self.incoming: dict[str, list[str]] = {block.name: [] for block in function.blocks}
        for block in function.blocks:
            for label in block.terminator.labels:
                self.incoming[label].append(block.name)
        self.reloads = self._reloads()
        self.runs = {
            run.block: RunWriter(run, function.blocks[run.block].name, ids.run + place, spelling)
            for place, run in enumerate(runs)
        }
        self.regions = {
            self.names[region.header]: RegionWriter(region, ids.region + place) for place, region in enumerate(regions)
        }
        self.shorts = {ids.segment + short.place: (ids.short + place, short) for place, short in enumerate(part.shorts)}
        words = sum(1 + segment.words for segment in segments)
        words += sum(run.header_words for run in runs) + sum(region.header_words for region in regions)
        self.checked = self._checked(words)
        self.serial = 0

    def rewrite(self) -> None:
        for block in self.function.blocks:
            last = self.segments[self.names[block.name]][-1][0]
            self.positions[block.name] = f"%tc.n{last}"
        pieces: list[Block] = []
        phis: list[tuple[str, Instruction]] = []
        for block in self.function.blocks:
            number = self.names[block.name]
            if number in self.runs:
                run, (_, segment) = self.runs[number], self.segments[number][0]
                before = self.positions[run.front.outside]
                pieces.extend(run.write(block, segment, before, self.positions[block.name]))
            else:
                if number in self.regions:
                    region = self.regions[number]
                    pieces.append(region.write(self.positions[region.front.outside]))
                    for phi in block.phis:
                        region.front.relabel(phi)
                pieces.extend(self._block(block, phis))
            self.tails[block.name] = pieces[-1].name
        for name, phi in phis:
            edges = ", ".join(f"[ {position}, %{label} ]" for position, label in self._edges(name))
            phi.text = f"{phi.text} {edges}"
        for piece in pieces:
            for instruction in piece.instructions:
                if instruction.op != "phi":
                    break
                if not instruction.text.startswith("%tc."):
                    instruction.text = self._relabelled(instruction.text)
        fronts = [run.front for run in self.runs.values()] + [region.front for region in self.regions.values()]
        redirect(fronts, self.function)
        self.function.blocks = pieces

    def _edges(self, name: str) -> Iterator[tuple[str, str]]:
        """The write position on each edge that leads to a block, and the piece that it comes from."""
        region = self.regions.get(self.names[name])
        for label in self.incoming[name]:
            if region is not None and label == region.front.outside:
                yield region.position, region.front.name
            else:
                yield self.positions[label], self.tails[label]

    def _reloads(self) -> set[str]:
        """Blocks that take the position from memory: entries, targets of invokes, what nothing leads to."""
        found = {name for name, sources in self.incoming.items() if not sources}
        found.add(self.function.entry.name)
        for block in self.function.blocks:
            if block.terminator.op in ("invoke", "callbr"):
                found.update(block.terminator.labels)
        return found

    def _checked(self, words: int) -> set[str]:
        """Blocks whose first segment tests for room: where the position is loaded, and headers of loops."""
        if words > SLACK_WORDS:
            return set(self.names)
        found = set(self.reloads)
        state: dict[str, int] = {}
        for root in self.names:
            stack: list[tuple[str, Iterator[str]]] = []
            if root not in state:
                state[root] = 1
                stack.append((root, iter(self._successors(root))))
            while stack:
                name, targets = stack[-1]
                for target in targets:
                    if state.get(target) == 1:  # still on the path: a back edge
                        found.add(target)
                    elif target not in state:
                        state[target] = 1
                        stack.append((target, iter(self._successors(target))))
                        break
                else:
                    state[name] = 2
                    stack.pop()
        return found

    def _successors(self, name: str) -> tuple[str, ...]:
        return self.function.blocks[self.names[name]].terminator.labels

    def _block(self, block: Block, phis: list[tuple[str, Instruction]]) -> list[Block]:
        lead = sum(1 for instruction in block.instructions if instruction.op in ("phi", "landingpad"))
        fixed = [place for place in range(lead, len(block.instructions)) if self._is_fixed(block, place)]
        piece = Block(block.name, [block.instructions[place] for place in (*range(lead), *fixed)])
        pieces = [piece]
        done = {*range(lead), *fixed}
        own = self.segments[self.names[block.name]]
        position = ""
        if block is self.function.entry:
            piece.instructions += [Instruction(line) for line in self.spelling.entry]
        for number, segment in own:
            if segment.first == 0 and block.name not in self.reloads:
                position = f"%tc.i{number}"
                phi = Instruction(f"{position} = phi ptr")
                piece.instructions.insert(0, phi)
                phis.append((block.name, phi))
            else:
                position = f"%tc.l{number}"
                if segment.role & RETURNED_TWICE:
                    frame = self._frame(piece.instructions)
                    piece.instructions.append(Instruction(f"call void @tce_returned(ptr {frame})"))
                piece.instructions.append(Instruction(f"{position} = load ptr, ptr {self.spelling.cursor}, align 8"))
            if segment.first or block.name in self.checked:
                piece, position = self._check(pieces, piece, position, number)
            self._record(block, piece, segment, number, position, done)
        return pieces

    def _is_fixed(self, block: Block, place: int) -> bool:
        """A stack slot of fixed size: it has to stay in the entry block, which a test for room splits."""
        instruction = block.instructions[place]
        return (
            block is self.function.entry
            and instruction.op == "alloca"
            and not any(operand.is_local for operand in instruction.operands)
        )

    def _check(self, pieces: list[Block], piece: Block, position: str, number: int) -> tuple[Block, str]:
        """Test whether the chunk is full; the new block, and the position in it."""
        bit, full, fresh, here = (f"%tc.{letter}{number}" for letter in "bfep")
        more, go = f"tc.m{number}", f"tc.g{number}"
        piece.instructions += [
            Instruction(f"{bit}.a = ptrtoint ptr {position} to i64"),
            Instruction(f"{bit} = and i64 {bit}.a, {1 << CHUNK_BITS}"),
            Instruction(f"{full} = icmp ne i64 {bit}, 0"),
            Instruction(f"br i1 {full}, label %{more}, label %{go}, {_SELDOM}"),
        ]
        flush = Block(more, [Instruction(f"{fresh} = {self.spelling.flush}(ptr {position})")])
        flush.instructions.append(Instruction(f"br label %{go}"))
        merge = Block(go, [Instruction(f"{here} = phi ptr [ {position}, %{piece.name} ], [ {fresh}, %{more} ]")])
        pieces += [flush, merge]
        return merge, here

    def _record(self, block: Block, piece: Block, segment: Segment, number: int, position: str, done: set[int]) -> None:
        """Append the segment's instructions with the stores of its record."""
        out = piece.instructions
        name, short = self.shorts.get(number, (number, None))
        out.append(Instruction(f"store i32 {name}, ptr {position}, align 4"))
        after = f"%tc.n{number}"
        size = 1 + segment.words if short is None else short.stored
        out.append(Instruction(f"{after} = getelementptr i8, ptr {position}, i64 {size * 4}"))
        early: dict[int, list[tuple[Item, int]]] = {}
        late: dict[int, list[tuple[Item, int]]] = {}
        for place, item, word in segment.own_items:
            offset = 1 + word if short is None else short.offset(word)
            if offset is not None:
                (late if item.late else early).setdefault(place, []).append((item, offset))
        for place in range(segment.first, segment.end):
            instruction = block.instructions[place]
            for item, offset in early.get(place, ()):
                self._store(out, position, item, offset)
            last = place == segment.end - 1
            for item, offset in late.get(place, ()) if last else ():  # zeros: an exception may be thrown instead
                out += [self._put(out, position, offset + word, "i32", "0") for word in range(words_of(item.kind))]
            if last and (place < len(block.instructions) - 1 or self._leaves_to_memory(instruction)):
                out.append(Instruction(f"store ptr {after}, ptr {self.spelling.cursor}, align 8"))
            if place not in done:
                timed = [offset for item, offset in early.get(place, ()) if self.timed and item.kind is Kind.ADDR]
                if timed and instruction.op in _TIMED:
                    self._timed(out, instruction, position, timed[0] + 2)
                else:
                    out += [self._put(out, position, offset + 2, "i32", "0") for offset in timed]
                    out.append(instruction)
            for item, offset in late.get(place, ()):
                self._store(out, position, item, offset)

    def _timed(self, out: list[Instruction], access: Instruction, position: str, word: int) -> None:
        """Append an access between time stamps, and store its cycles."""
        name = self._name("t")
        fence = [Instruction("call void @llvm.x86.sse2.lfence()")] if self.fenced else []
        first, second = (Instruction(f"{name}.{one} = call i64 @llvm.readcyclecounter()") for one in "ab")
        out += [*fence, first, *fence, access, *fence, second, *fence]
        out.append(Instruction(f"{name}.d = sub i64 {name}.b, {name}.a"))
        out.append(Instruction(f"{name}.m = call i64 @llvm.umin.i64(i64 {name}.d, i64 {0xFFFFFFFF})"))
        out.append(Instruction(f"{name} = trunc i64 {name}.m to i32"))
        out.append(self._put(out, position, word, "i32", name))

    def _put(self, out: list[Instruction], position: str, word: int, kind: str, text: str) -> Instruction:
        """The store of a value into a word of the record; its address is appended to `out`."""
        target = self._name("a")
        out.append(Instruction(f"{target} = getelementptr i8, ptr {position}, i64 {4 * word}"))
        return Instruction(f"store {kind} {text}, ptr {target}, align 4")

    def _leaves_to_memory(self, terminator: Instruction) -> bool:
        return terminator.op in ("ret", "resume", "invoke", "callbr") or any(
            label in self.reloads for label in terminator.labels
        )

    def _store(self, out: list[Instruction], position: str, item: Item, word: int) -> None:
        """Store the words of an item."""

        def put(kind: str, text: str) -> None:
            nonlocal word
            out.append(self._put(out, position, word, kind, text))
            word += 2

        if item.kind is Kind.FRAME:
            put("ptr", self._frame(out))
        elif item.kind is Kind.VARIABLE:
            for offset, kind in ((8, "ptr"), (16, "ptr"), (0, "i64")):
                field, text = self._name("v"), self._name("q")
                out.append(Instruction(f"{field} = getelementptr i8, ptr {item.pointers[0].text}, i64 {offset}"))
                out.append(Instruction(f"{text} = load {kind}, ptr {field}, align 8"))
                put(kind, text)
        elif item.kind is Kind.GATHER:
            for lane in range(item.lanes):
                address = self._name("x")
                pointers = item.pointers[0]
                out.append(Instruction(f"{address} = extractelement {pointers.type} {pointers.text}, i64 {lane}"))
                put("ptr", address)
        else:
            for pointer in item.pointers:
                text = pointer.text
                if item.indirect:
                    text = self._name("q")
                    out.append(Instruction(f"{text} = load ptr, ptr {pointer.text}, align 8"))
                put("ptr", text)
        if item.length:
            put("i64", length_of(item, out, self._name))
        if item.mask is not None:
            self._put_mask(out, position, item, item.mask, word)

    def _put_mask(self, out: list[Instruction], position: str, item: Item, mask: Operand, word: int) -> None:
        bits, wide = self._name("k"), 32 * mask_words(item.lanes)
        out.append(Instruction(f"{bits} = bitcast {mask.type} {mask.text} to i{item.lanes}"))
        if item.lanes != wide:
            out.append(Instruction(f"{bits}.w = zext i{item.lanes} {bits} to i{wide}"))
            bits += ".w"
        out.append(self._put(out, position, word, f"i{wide}", bits))

    def _frame(self, out: list[Instruction]) -> str:
        name = self._name("h")
        out.append(Instruction(f"{name} = call ptr @llvm.frameaddress.p0(i32 0)"))
        return name

    def _name(self, letter: str) -> str:
        self.serial += 1
        return f"%tc.{letter}.{self.serial}"

    def _relabelled(self, text: str) -> str:
        """A phi's text with the blocks that its values now come from."""
        return re.sub(
            r',\s*%("(?:[^"\\]|\\.)*"|[-\w.$]+)(\s*\])',
            lambda found: f", %{self.tails.get(found[1], found[1])}{found[2]}",
            text,
        )
