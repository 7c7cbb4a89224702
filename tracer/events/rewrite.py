"""Instrumentation: the text of a module → the same module, which writes its stream of records.

The write position is an SSA value: a phi in each block, kept in a register by the code generator, and put into the
thread-local `@tc_cursor` only where other code may need it (calls that may enter instrumented code, returns). A record
is reserved at once, with stores at fixed offsets; the address of an access is stored in front of it, so that the
record of a crash holds it. Whether a chunk is full is one bit of the position, tested where a bounded amount was
written since: at function entries, behind calls and at loop headers. See `runtime.c` for the layout of chunks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ..text import Block, Function, Instruction, Module, Operand, parse_module
from .items import Kind, mask_words
from .sites import Item, Sites
from .static import RETURNED_TWICE, Segment, chosen_functions, global_sizes, layout, segments_of

CHUNK_BITS = 19  # a chunk is full when bit 19 of the position is set: 512 KiB, small enough to stay in the caches
SLACK_WORDS = 1 << (CHUNK_BITS - 3)  # what may be written between two tests: half of the room behind a chunk

_SELDOM = '!prof !{!"branch_weights", i32 1, i32 1048576}'
_DECLARES = {
    "@tce_flush": "declare preserve_mostcc ptr @tce_flush(ptr) cold nounwind",
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
# Handlers run in a stream of their own; a child of vfork would write into its parent's.
_REPLACED = {"signal": "tce_signal", "sigaction": "tce_sigaction", "vfork": "fork"}


def instrumented(
    text: str, functions: Collection[str] | None = None, *, tls: str = "localexec", timed: bool = False
) -> str:
    """Text of the instrumented module. Same arguments and errors as `static.static_of`, whose ids it writes.

    Args:
        tls: model of the thread-local position: `localexec` for executables, `initialexec` for shared libraries.
    """
    module = parse_module(text)
    sites = Sites(module)
    listed = global_sizes(module)
    number = 1
    for function in chosen_functions(module, functions):
        segments = segments_of(function, sites)
        _Writer(function, segments, number, timed=timed).rewrite()
        number += len(segments)
    pairs = ", ".join(f"{{ ptr, i64 }} {{ ptr {name}, i64 {size} }}" for name, size in listed)
    body = f"[{pairs}]" if listed else "zeroinitializer"
    module.append(f"@tce_globals = constant [{len(listed)} x {{ ptr, i64 }}] {body}, align 8")
    module.append(f"@tce_global_count = constant i64 {len(listed)}, align 8")
    module.append(f"@tc_cursor = thread_local({tls}) global ptr inttoptr (i64 {1 << CHUNK_BITS} to ptr), align 8")
    for name, line in _DECLARES.items():
        if name not in module.declarations:
            module.append(line)
    return _with_replacements(module)


def _with_replacements(module: Module) -> str:
    names = "|".join(name for name in _REPLACED if f"@{name}" not in module.functions)
    declared = module.declarations
    if not any(f"@{name}" in declared for name in _REPLACED):
        return str(module)
    if "@vfork" in declared and "@fork" in declared:
        module.items = [item for item in module.items if item != declared["@vfork"]]
    pattern = re.compile(rf'"(?:[^"\\]|\\.)*"|@({names})(?![-\w.$])')  # what a string says stays
    return pattern.sub(lambda found: f"@{_REPLACED[found[1]]}" if found[1] else found.group(), str(module))


class _Writer:
    """Rewrites one function. `first`: id of its first segment."""

    def __init__(self, function: Function, segments: list[Segment], first: int, *, timed: bool) -> None:
        self.function = function
        self.timed = timed
        self.first = first
        self.segments: dict[int, list[tuple[int, Segment]]] = {}
        for place, segment in enumerate(segments):
            self.segments.setdefault(segment.block, []).append((first + place, segment))
        self.names = {block.name: number for number, block in enumerate(function.blocks)}
        self.tails: dict[str, str] = {}  # block → the piece of it that holds its terminator
        self.positions: dict[str, str] = {}  # block → write position at its end
        self.incoming: dict[str, list[str]] = {block.name: [] for block in function.blocks}
        for block in function.blocks:
            for label in block.terminator.labels:
                self.incoming[label].append(block.name)
        self.reloads = self._reloads()
        self.checked = self._checked(sum(self._size(segment) for segment in segments))
        self.serial = 0

    def rewrite(self) -> None:
        for block in self.function.blocks:
            last = self.segments[self.names[block.name]][-1][0]
            self.positions[block.name] = f"%tc.n{last}"
        pieces: list[Block] = []
        phis: list[tuple[str, Instruction]] = []
        for block in self.function.blocks:
            pieces.extend(self._block(block, phis))
            self.tails[block.name] = pieces[-1].name
        for name, phi in phis:
            edges = ", ".join(f"[ {self.positions[label]}, %{self.tails[label]} ]" for label in self.incoming[name])
            phi.text = f"{phi.text} {edges}"
        for piece in pieces:
            for instruction in piece.instructions:
                if instruction.op != "phi":
                    break
                if not instruction.text.startswith("%tc."):
                    instruction.text = self._relabelled(instruction.text)
        self.function.blocks = pieces

    def _reloads(self) -> set[str]:
        """Blocks that take the position from memory: entries, targets of invokes, what nothing leads to."""
        found = {name for name, sources in self.incoming.items() if not sources}
        found.add(self.function.entry.name)
        for block in self.function.blocks:
            if block.terminator.op in ("invoke", "callbr"):
                found.update(block.terminator.labels)
        return found

    def _checked(self, words: int) -> set[str]:
        """Blocks whose first segment tests for room: where memory was consulted, and where loops close."""
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
                    if state.get(target) == 1:  # still on the path: this edge closes a loop
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
        for number, segment in own:
            if segment.first == 0 and block.name not in self.reloads:
                position = f"%tc.i{number}"
                phi = Instruction(f"{position} = phi ptr")
                piece.instructions.insert(0, phi)
                phis.append((block.name, phi))
            else:
                position = f"%tc.l{number}"
                if segment.role & RETURNED_TWICE:
                    frame = self._frame(piece)
                    piece.instructions.append(Instruction(f"call void @tce_returned(ptr {frame})"))
                piece.instructions.append(Instruction(f"{position} = load ptr, ptr @tc_cursor, align 8"))
            if segment.first or block.name in self.checked:
                piece, position = self._check(pieces, piece, position, number)
            self._record(block, piece, segment, number, position, done)
        return pieces

    def _is_fixed(self, block: Block, place: int) -> bool:
        """A stack slot of fixed size: it has to stay in the entry block, which a test for room cuts."""
        instruction = block.instructions[place]
        return (
            block is self.function.entry
            and instruction.op == "alloca"
            and not any(operand.is_local for operand in instruction.operands)
        )

    def _check(self, pieces: list[Block], piece: Block, position: str, number: int) -> tuple[Block, str]:
        """Test whether the chunk is full; the new piece, and the position in it."""
        bit, full, fresh, here = (f"%tc.{letter}{number}" for letter in "bfep")
        more, go = f"tc.m{number}", f"tc.g{number}"
        piece.instructions += [
            Instruction(f"{bit}.a = ptrtoint ptr {position} to i64"),
            Instruction(f"{bit} = and i64 {bit}.a, {1 << CHUNK_BITS}"),
            Instruction(f"{full} = icmp ne i64 {bit}, 0"),
            Instruction(f"br i1 {full}, label %{more}, label %{go}, {_SELDOM}"),
        ]
        flush = Block(more, [Instruction(f"{fresh} = call preserve_mostcc ptr @tce_flush(ptr {position})")])
        flush.instructions.append(Instruction(f"br label %{go}"))
        merge = Block(go, [Instruction(f"{here} = phi ptr [ {position}, %{piece.name} ], [ {fresh}, %{more} ]")])
        pieces += [flush, merge]
        return merge, here

    def _record(self, block: Block, piece: Block, segment: Segment, number: int, position: str, done: set[int]) -> None:
        """Write the segment's instructions with the stores of its record among them."""
        out = piece.instructions
        out.append(Instruction(f"store i32 {number}, ptr {position}, align 4"))
        after = f"%tc.n{number}"
        out.append(Instruction(f"{after} = getelementptr i8, ptr {position}, i64 {self._size(segment) * 4}"))
        early: dict[int, list[tuple[Item, int]]] = {}
        late: dict[int, list[tuple[Item, int]]] = {}
        words, _ = layout([item for _, item in segment.items], timed=self.timed)
        for (place, item), (word, own) in zip(segment.items, words, strict=True):
            if own:
                (late if item.late else early).setdefault(place, []).append((item, 1 + word))
        for place in range(segment.first, segment.end):
            instruction = block.instructions[place]
            for item, offset in early.get(place, ()):
                self._store(out, position, item, offset)
            last = place == segment.end - 1
            if last and (place < len(block.instructions) - 1 or self._leaves_to_memory(instruction)):
                out.append(Instruction(f"store ptr {after}, ptr @tc_cursor, align 8"))
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
        """An access between fenced time stamps, and its cycles."""
        name = self._name("t")
        fence, clock = Instruction("call void @llvm.x86.sse2.lfence()"), "call i64 @llvm.readcyclecounter()"
        out += [
            fence,
            Instruction(f"{name}.a = {clock}"),
            fence,
            access,
            fence,
            Instruction(f"{name}.b = {clock}"),
            fence,
        ]
        out.append(Instruction(f"{name}.d = sub i64 {name}.b, {name}.a"))
        out.append(Instruction(f"{name}.m = call i64 @llvm.umin.i64(i64 {name}.d, i64 {0xFFFFFFFF})"))
        out.append(Instruction(f"{name} = trunc i64 {name}.m to i32"))
        out.append(self._put(out, position, word, "i32", name))

    def _put(self, out: list[Instruction], position: str, word: int, kind: str, text: str) -> Instruction:
        """The store of a value into a word of the record; what it needs goes to `out`."""
        target = self._name("a")
        out.append(Instruction(f"{target} = getelementptr i8, ptr {position}, i64 {4 * word}"))
        return Instruction(f"store {kind} {text}, ptr {target}, align 4")

    def _size(self, segment: Segment) -> int:
        """Words of a record, its id included."""
        return 1 + layout([item for _, item in segment.items], timed=self.timed)[1]

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
            put("ptr", self._frame_in(out))
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
            put("i64", self._length(out, item))
        if item.mask is not None:
            self._put_mask(out, position, item, item.mask, word)

    def _put_mask(self, out: list[Instruction], position: str, item: Item, mask: Operand, word: int) -> None:
        bits, wide = self._name("k"), 32 * mask_words(item.lanes)
        out.append(Instruction(f"{bits} = bitcast {mask.type} {mask.text} to i{item.lanes}"))
        if item.lanes != wide:
            out.append(Instruction(f"{bits}.w = zext i{item.lanes} {bits} to i{wide}"))
            bits += ".w"
        out.append(self._put(out, position, word, f"i{wide}", bits))

    def _length(self, out: list[Instruction], item: Item) -> str:
        """Multiply the factors of a dynamic length."""
        total = ""
        for factor in item.length:
            text = self._factor(out, item, factor)
            if total:
                product = self._name("m")
                out.append(Instruction(f"{product} = mul i64 {total}, {text}"))
                text = product
            total = text
        return total

    def _factor(self, out: list[Instruction], item: Item, factor: str) -> str:
        found = re.fullmatch(r"(a|str|min|nn|ret)?(\d*)", factor)
        if found is None:
            raise ValueError(f"not a length: {factor!r}")
        what, number = found.groups()
        name = self._name("s")
        if what is None:
            return number
        if what == "a":
            return self._as_i64(out, item.arguments[int(number)], "zext")
        if what == "ret":
            if item.result is None:
                return "0"
            text = self._as_i64(out, item.result, "sext")
            out.append(Instruction(f"{name} = call i64 @llvm.smax.i64(i64 {text}, i64 0)"))
        elif what == "nn":
            out.append(Instruction(f"{name}.c = icmp ne ptr {item.arguments[int(number)].text}, null"))
            out.append(Instruction(f"{name} = zext i1 {name}.c to i64"))
        elif what == "str":
            pointer = item.arguments[int(number)] if number else item.pointers[0]
            out.append(Instruction(f"{name} = call i64 @tce_string(ptr {pointer.text})"))
        else:
            limit = self._as_i64(out, item.arguments[int(number)], "sext")
            out.append(Instruction(f"{name} = call i64 @tce_string_up_to(ptr {item.pointers[0].text}, i64 {limit})"))
        return name

    def _as_i64(self, out: list[Instruction], value: Operand, cast: str) -> str:
        if value.type == "i64":
            return value.text
        name = self._name("z")
        out.append(Instruction(f"{name} = {cast} {value.type} {value.text} to i64"))
        return name

    def _frame(self, piece: Block) -> str:
        return self._frame_in(piece.instructions)

    def _frame_in(self, out: list[Instruction]) -> str:
        name = self._name("h")
        out.append(Instruction(f"{name} = call ptr @llvm.frameaddress.p0(i32 0)"))
        return name

    def _name(self, letter: str) -> str:
        self.serial += 1
        return f"%tc.{letter}.{self.serial}"

    def _relabelled(self, text: str) -> str:
        """A phi's text with the pieces that its values now come from."""
        return re.sub(
            r',\s*%("(?:[^"\\]|\\.)*"|[-\w.$]+)(\s*\])',
            lambda found: f", %{self.tails.get(found[1], found[1])}{found[2]}",
            text,
        )
