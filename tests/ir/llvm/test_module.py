"""Modules of textual IR: what is read is printed again, as LLVM itself understands it."""

from __future__ import annotations

import gc
import re
from pathlib import Path

import pytest
from tracecut.ir.llvm import Module, parse_module
from tracecut.ir.llvm.debug_info import Lines, Place
from tracecut.ir.llvm.edit import add_array, at_start, before_end, fits_slots, store_values
from tracecut.ir.llvm.instruction import Instruction
from tracecut.ir.llvm.module import Block
from tracecut.support.garbage_collection import uncollected
from tracecut.tracer.toolchain.clang import Flags, to_ir
from tracecut.tracer.toolchain.passes import canonical, parse

pytestmark = pytest.mark.quick

NASTY = Path(__file__).parents[2] / "tracer" / "programs" / "nasty.ll"
SAMPLES = sorted((Path(__file__).parents[3] / "samples").glob("*.c"))


@pytest.fixture(scope="module")
def nasty() -> str:
    """The odd text, as LLVM prints it."""
    return unnumbered(str(parse(NASTY.read_text(), NASTY.name)))


def seen_by_llvm(text: str) -> str:
    """What LLVM makes of a module without its debug records."""
    plain = "\n".join(line for line in text.splitlines() if not line.strip().startswith("#dbg_"))
    return unnumbered(str(parse(plain)))


def unnumbered(text: str) -> str:
    """Text without the numbers that LLVM gives to types whose name was there before in this process."""
    return re.sub(r'(%"?[\w. ]*?)(\.\d+)+\b', r"\1", text)


def test_odd_text_means_the_same_when_printed_again(nasty: str) -> None:
    module = parse_module(nasty)
    assert seen_by_llvm(str(module)) == seen_by_llvm(nasty)
    assert str(parse_module(str(module))) == str(module)


@pytest.mark.parametrize("source", SAMPLES, ids=lambda path: path.stem)
def test_samples_mean_the_same_when_printed_again(source: Path, tmp_path: Path) -> None:
    text = to_ir(source, Flags(("-O1",)), tmp_path, canonical=False)
    assert seen_by_llvm(str(parse_module(text))) == seen_by_llvm(text)
    made = canonical([text])
    assert seen_by_llvm(str(made)) == seen_by_llvm(str(parse_module(str(made))))


def named(module: Module, name: str) -> dict[str, Instruction]:
    """Instructions of a function by result."""
    return {str(found.result): found for _, found in module.functions[name].instructions() if found.result}


def test_names_and_headers(nasty: str) -> None:
    module = parse_module(nasty)
    assert list(module.functions) == ["@odd", "@plain"]
    odd = module.functions["@odd"]
    assert [(p.type, p.name) for p in odd.parameters] == [("i32", "%0"), ("ptr", '%"an argument"'), ("<4 x i32>", "%v")]
    assert [block.name for block in odd.blocks] == ["1", '"a, label"', "13", "14", "16", "17", "18"]
    assert odd.header[odd.signature_end :].startswith(" unnamed_addr #")
    assert len(odd.attribute_groups) == 1
    assert [p.name for p in module.functions["@plain"].parameters] == ["%0", "%p"]
    assert module.functions["@plain"].entry.name == "1"
    assert set(module.declarations) >= {'@"odd callee"', "@printf"}
    groups = module.attribute_groups()
    assert any('"a{b"="c}d"' in words for words in groups.values())


def test_globals(nasty: str) -> None:
    found = parse_module(nasty).globals
    assert set(found) == {'@"a global, {quoted}"', "@text", "@table", "@tls", "@outside", "@weak", "@closed", "@packed"}
    assert found["@packed"].type == "<{ i8, i64, [2 x i8] }>"
    assert [name for name, item in found.items() if not item.defined] == ["@outside", "@weak", "@closed"]
    assert [name for name, item in found.items() if item.constant] == ["@text", "@table"]
    assert [name for name, item in found.items() if item.thread_local] == ["@tls"]


def test_named_types(nasty: str) -> None:
    types = parse_module(nasty).types()
    assert types.size('%"struct.with space"') == 20
    assert types.size("%later") == 96
    assert types.field("%later", 1) == (24, "[3 x { i16, ptr }]")
    with pytest.raises(ValueError, match="opaque"):
        types.size("%opaque")
    with pytest.raises(ValueError, match="unknown type %nothing"):
        types.size("%nothing")


def test_instructions(nasty: str) -> None:
    module = parse_module(nasty)
    found = named(module, "@odd")
    address = found['%"an address"']
    assert (address.op, address.word, address.type) == ("getelementptr", "%later", "ptr")
    assert address.flags == {"inbounds", "nuw"}
    assert [operand.text for operand in address.operands] == ["%2", "1", "1", "2", "1"]
    assert address.meta.keys() == {"dbg"}
    assert (found["%2"].op, found["%2"].word, found["%2"].operands[0].text) == ("alloca", "%later", "3")
    assert found["%3"].operands == ()
    assert not found["%4"].is_simple_access and "volatile" in found["%4"].flags
    assert not found["%5"].is_simple_access and found["%5"].operands[0].text == "%3"
    assert (found["%6"].op, found["%6"].word, found["%6"].operands[0].text) == ("atomicrmw", "add", "%3")
    assert (found["%9"].word, found["%9"].type) == ("asm", "?")
    assert (found["%10"].word, found["%10"].type) == ("@printf", "i32")
    assert [operand.text for operand in found["%10"].operands][:2] == ["@text", "%9"]
    assert found["%12"].labels == ('"a, label"', "13", "16")
    assert [operand.text for operand in found["%12"].operands] == ["1", "2", "%wide"]
    assert (found["%15"].op, found["%15"].labels, found["%15"].type) == ("invoke", ("16", "17"), "i32")
    assert [operand.text for operand in found["%15"].operands][:2] == ["1", "null"]
    assert found["%vectors"].type == "<2 x ptr>"
    assert (found["%less"].word, found["%less"].type) == ("ult", "i1")
    assert found["%wide"].flags == {"disjoint"}
    assert (found["%cast"].type, found["%cast"].operands[0].type) == ("i32", "float")
    assert found["%pointer"].operands[0].text == "ptrtoint (ptr @packed to i64)"
    assert found["%picked"].uses == ("%shuffled",)


def test_terminators(nasty: str) -> None:
    blocks = {block.name: block for block in parse_module(nasty).functions["@odd"].blocks}
    switch = blocks['"a, label"'].terminator
    assert (switch.op, switch.labels, switch.operands[0].text) == ("switch", ("13", '"a, label"', "14"), "%12")
    assert "prof" in switch.meta
    branch = blocks["13"].terminator
    assert (branch.labels, branch.operands[0].text) == (('"a, label"', "14"), "true")
    assert "llvm.loop" in branch.meta
    assert blocks["16"].terminator.labels == ('"a, label"', "18")
    assert blocks["17"].terminator.op == "resume"
    assert "filter [1 x ptr]" in blocks["17"].instructions[0].text


def test_calls(nasty: str) -> None:
    module = parse_module(nasty)
    calls = [found for _, found in module.functions["@odd"].instructions() if found.op == "call"]
    words = [found.word for found in calls]
    assert words == ["asm", "@printf", '@"odd callee"', "@odd", "@llvm.smax.i32", "@llvm.assume"]
    odd = calls[2]
    assert [(operand.type, operand.text) for operand in odd.operands] == [("ptr", "%2"), ("i32", "-1")]
    assert calls[3].text.count("musttail") == 1


def test_source_lines(nasty: str) -> None:
    module = parse_module(nasty)
    lines = Lines(module.metadata())
    address = named(module, "@odd")['%"an address"']
    found = lines.place(address.meta["dbg"])
    assert found == Place('a "name", scope: !0.c', 31, 5, 'inner "one"', Place('a "name", scope: !0.c', 8, 2, "odd"))
    assert [place.line for place in found.chain()] == [31, 8]
    loop = module.functions["@odd"].block("13").terminator.meta["llvm.loop"]
    assert lines.loop_start(loop) == found
    assert lines.place(None) is None
    assert lines.place("!1") is None  # no location


def test_what_was_merged_of_several_lines_is_where_the_next_one_is() -> None:
    nodes = {"!1": '!DIFile(filename: "a.c", directory: "/")', "!2": 'distinct !DISubprogram(name: "f", file: !1)'}
    nodes |= {f"!{line + 10}": f"!DILocation(line: {line}, column: 1, scope: !2)" for line in (0, 3, 7)}
    lines = Lines(nodes)

    def block(*numbers: int | None) -> Block:
        metas = [{} if number is None else {"dbg": f"!{number + 10}"} for number in numbers]
        return Block("b", [Instruction(f"%x{place} = add i32 1, 2", meta) for place, meta in enumerate(metas)])

    def found(at: int, *numbers: int | None) -> int | None:
        made = block(*numbers)
        place = lines.nearest(made, made.instructions[at])
        return None if place is None else place.line

    assert found(0, 3, 7) == 3
    assert found(2, 3, 7, 0, None, 3) == 3
    assert found(2, 3, 7, 0, None) == 7
    assert found(1, 3, None, 0) == 3
    assert found(1, None, 0, None) == 0 and found(0, None, None) is None


def test_source_lines_that_go_round_in_circles_end() -> None:
    text = "!DILocation(line: 3, column: 1, scope: !2, inlinedAt: !1)"
    found = Lines({"!1": text, "!2": "distinct !DILexicalBlock(scope: !2)"}).place("!1")
    assert found is not None and found.line == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("define void @f() {\n  ret void\n", "function @f has no end"),
        ("define void @f() {", "function @f has no end"),
        ("define broken {\n}\n", "not a function"),
        ("define void @f() {\n  br i1 %x, label [\n}\n", "not a label"),
    ],
)
def test_what_is_no_printed_module_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        for function in parse_module(text).functions.values():
            for _, instruction in function.instructions():
                assert instruction.labels is not None


def test_a_switch_that_never_ends_is_an_error() -> None:
    with pytest.raises(ValueError, match="a switch has no end"):
        parse_module("define void @f(i32 %x) {\n  switch i32 %x, label %a [\n    i32 1, label %b\n")


# ---- edits ------------------------------------------------------------------------------------------------

EDITED = """
declare void @hook(ptr)
define i64 @f(i64 %n, i1 %flag, float %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi float [ %x, %entry ], [ %s, %loop ]
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i64 %i
}
"""


def test_inserted_code_is_valid() -> None:
    module = parse_module(EDITED)
    function = module.functions["@f"]
    values = [("%n", "i64"), ("%flag", "i1"), ("%x", "float")]
    array = add_array(function, "%slots", len(values))
    before_end(
        function.block("entry"), [*store_values(values, array, "%at"), Instruction(f"call void @hook(ptr {array})")]
    )
    at_start(function.block("loop"), [Instruction("call void @hook(ptr null)")])
    at_start(function.block("end"), [Instruction("call void @hook(ptr null)")])
    parse(str(module))
    loop = [instruction.op for instruction in function.block("loop").instructions]
    assert loop[:3] == ["phi", "phi", "call"]
    assert function.entry.instructions[0].op == "alloca" and function.entry.terminator.op == "br"


def test_values_that_fit_a_slot() -> None:
    types = parse_module("").types()
    assert fits_slots([("%a", "i64"), ("%b", "ptr"), ("%c", "double"), ("%d", "i1")], types) is None
    assert fits_slots([("%a", "i64"), ("%b", "<4 x i32>")], types) == "%b"
    assert fits_slots([("%a", "i128")], types) == "%a"
    assert fits_slots([("%a", "%unknown")], types) == "%a"


def test_nothing_is_collected_while_modules_are_read() -> None:
    with pytest.raises(KeyError), uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("line", "text", "meta"),
    [
        ("  store i32 1, ptr %p, align 4, !dbg !7", "store i32 1, ptr %p, align 4", {"dbg": "!7"}),
        ("  store i32 1, ptr %p, !tbaa !3, !dbg !7", "store i32 1, ptr %p", {"tbaa": "!3", "dbg": "!7"}),
        ('  call void asm "a, !dbg !1", ""(), !dbg !7', 'call void asm "a, !dbg !1", ""()', {"dbg": "!7"}),
        (
            "  call void @f(metadata i32 %a, metadata !9), !dbg !7",
            "call void @f(metadata i32 %a, metadata !9)",
            {"dbg": "!7"},
        ),
    ],
)
def test_attachments_of_a_line(line: str, text: str, meta: dict[str, str]) -> None:
    found = Instruction.from_line(line)
    assert (found.text, found.meta) == (text, meta)
    assert found.op == text.split()[0] and "op" in vars(found)  # worked out once


@pytest.mark.parametrize(
    ("text", "result", "op", "body"),
    [
        ("%x = add nsw i32 %y, 1", "%x", "add", "i32 %y, 1"),
        ("%x =  load  i32, ptr %p", "%x", "load", "i32, ptr %p"),
        ('%"a = b" = add i32 %x, 1', '%"a = b"', "add", "i32 %x, 1"),
        ("%x = tail call i32 @f()", "%x", "call", "i32 @f()"),
        ('store ptr @"a = b", ptr %p', None, "store", 'ptr @"a = b", ptr %p'),
        ("unreachable", None, "unreachable", ""),
    ],
)
def test_the_head_of_an_instruction(text: str, result: str | None, op: str, body: str) -> None:
    found = Instruction(text)
    assert (found.result, found.op, found.body) == (result, op, body)


def test_metadata_stands_apart_and_is_printed_last() -> None:
    text = '!llvm.ident = !{!0}\n@a = global i32 0, !dbg !1\n!0 = !{!"x"}\n!1 = distinct !{!1}\n'
    module = parse_module(text)
    module.append("@b = global i32 0")
    module.append("!2 = !{}")
    assert module.metadata() == {"!llvm.ident": "!{!0}", "!0": '!{!"x"}', "!1": "distinct !{!1}", "!2": "!{}"}
    assert str(module).splitlines()[:3] == ["@a = global i32 0, !dbg !1", "@b = global i32 0", "!llvm.ident = !{!0}"]
    assert str(parse_module(str(module))) == str(module)
