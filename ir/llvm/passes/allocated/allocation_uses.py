"""What is done with memory that is allocated in a loop: who may have its address, and which calls free it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tracecut.ir.llvm import Function, Instruction, Module
from tracecut.ir.llvm.call_effects import DELETE_OPERATORS, NEW_OPERATORS, RETURNS_TWICE
from tracecut.ir.llvm.control_flow import ControlFlow, Loop

CXX = tuple(f"@{name}" for name in NEW_OPERATORS)
ALLOCATE = ("@malloc", "@calloc")
NEW = (*CXX, *ALLOCATE)
CXX_FREE = tuple(f"@{name}" for name in DELETE_OPERATORS)
FREE = (*CXX_FREE, "@free")
USABLE = "@malloc_usable_size"
_DECLARED = {
    "@malloc": "declare noalias ptr @malloc(i64)",
    "@free": "declare void @free(ptr)",
    USABLE: f"declare i64 {USABLE}(ptr)",
    "@llvm.trap": "declare void @llvm.trap()",
    "@llvm.umax.i64": "declare i64 @llvm.umax.i64(i64, i64)",
    "@llvm.umul.with.overflow.i64": "declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)",
    "@llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
}
Users = Callable[[str], Sequence[tuple[str, Instruction]]]  # value → (block, instruction) of all that use it
_GROUP = re.compile(r"#\d+")
TOUCHING = ("@llvm.memset.", "@llvm.memcpy.", "@llvm.memmove.", "@llvm.lifetime.", "@llvm.assume")


def allocates(item: Instruction) -> bool:
    """Whether an instruction allocates memory that the program may use."""
    return item.op in ("call", "invoke") and item.word in NEW and item.result is not None


def out_of_memory(call: Instruction) -> list[str]:
    """Lines of a block where a call of `new` would find no memory: it is called, and throws.

    Handlers of the function itself, and what tidies up there, are passed by.
    """
    size = call.operands[0].text
    return [f"call ptr {call.word}(i64 {size})", "call void @llvm.trap()", "unreachable"]


def replaces_allocators(module: Module) -> bool:
    """Whether a module has an allocator of its own, of which nothing is known."""
    return any(name in module.functions for name in (*NEW, *FREE, USABLE))


def declare(module: Module) -> None:
    """Declare, in place, what passes for allocations call."""
    known = module.declarations
    module.items += [line for name, line in _DECLARED.items() if name not in known]


def returns_twice(module: Module) -> bool:
    """Whether a module calls `setjmp`: what lies on a stack may then be as it was, or not, or be left for good."""
    groups = module.attribute_groups()
    return any(
        name.removeprefix("@") in RETURNS_TWICE
        or any("returns_twice" in groups.get(group, "") for group in _GROUP.findall(text))
        for name, text in module.declarations.items()
    )


def recursive_functions(module: Module) -> set[str]:
    """Functions of a module that may call themselves, by their names, through others too. O(calls × functions)."""
    own = module.functions
    called = {
        name: {item.word for _, item in one.instructions() if item.op in ("call", "invoke") and item.word in own}
        for name, one in own.items()
    }
    found = set()
    for name in own:
        seen, stack = set[str](), [name]
        while stack:
            fresh = called[stack.pop()] - seen
            seen |= fresh
            stack += fresh
        if name in seen:
            found.add(name)
    return found


def throwing_functions(module: Module) -> set[str]:
    """Functions of a module that may throw exceptions."""
    groups = module.attribute_groups()
    return {
        name
        for name, one in module.functions.items()
        if "nounwind" not in one.header and not any("nounwind" in groups[group] for group in one.attribute_groups)
    }


def calls_any(flow: ControlFlow, loop: Loop, names: Collection[str]) -> bool:
    """Whether a loop calls one of some functions, other than by `invoke`."""
    return any(
        item.op == "call" and item.word in names for name in loop.blocks for item in flow.blocks[name].instructions
    )


@dataclass(frozen=True)
class Use:
    """What is done with allocated memory: names that are its address or null, and blocks that free it → the calls."""

    names: set[str]
    frees: dict[str, Instruction]


def users_in(function: Function) -> Users:
    """Who uses which value of a function."""
    users: dict[str, list[tuple[str, Instruction]]] = {}
    for block, item in function.instructions():
        for used in set(item.uses):
            users.setdefault(used, []).append((block.name, item))
    return lambda name: users.get(name, ())


def uses_of(users: Users, loop: Loop, name: str, *, shown: bool = False) -> Use | None:
    """None when somebody may keep the address, or where iterations hand it on. O(users).

    `shown`: it may be stored. Who finds it there may not use it once the memory is freed, nor free it another time.
    """
    names, derived, stack = {name}, {name}, [name]
    frees: dict[str, Instruction] = {}
    while stack:
        pointer = stack.pop()
        for block, item in users(pointer):
            more = item.op in ("getelementptr", "phi", "select")
            if item.op == "phi":
                if block == loop.header:
                    return None
                if all(value.text in (*names, "null") for value in item.operands):
                    names.add(str(item.result))
            elif item.op == "store":
                if item.operands[0].text == pointer and not shown:
                    return None
            elif item.op in ("call", "invoke"):
                if item.word in FREE and item.op == "call":
                    if pointer not in names or frees.get(block, item) is not item:
                        return None
                    frees[block] = item
                elif not item.word.startswith(TOUCHING):
                    return None
            elif item.op == "ptrtoint":
                if not only_compared(str(item.result), users):
                    return None
            elif not more and item.op not in ("load", "icmp"):
                return None
            if more and item.result not in derived:
                derived.add(str(item.result))
                stack.append(str(item.result))
    return Use(names, frees)


def only_compared(number: str, users: Users) -> bool:
    """Whether an address as a number is only subtracted from others, or compared with them."""
    seen, stack = {number}, [number]
    while stack:
        for _, item in users(stack.pop()):
            shifted = item.op in ("add", "sub") and item.operands[1].text.lstrip("-").isdigit()
            if item.op not in ("sub", "icmp", "phi") and not shifted:
                return False
            if (shifted or item.op == "phi") and item.result not in seen:
                seen.add(str(item.result))
                stack.append(str(item.result))
    return True


def size_of(call: Instruction, name: str) -> tuple[list[str], str]:
    """Lines that compute how much is allocated, and the number; of calloc one that nobody has, if it is too large.

    `name`: what the names of new values end with.
    """
    texts = [operand.text for operand in call.operands]
    if call.word != "@calloc":
        return [], texts[0]
    both, over, product, size = (f"%tracecut.{word}.{name}" for word in ("both", "over", "product", "size"))
    return [
        f"{both} = call {{ i64, i1 }} @llvm.umul.with.overflow.i64(i64 {texts[0]}, i64 {texts[1]})",
        f"{over} = extractvalue {{ i64, i1 }} {both}, 1",
        f"{product} = extractvalue {{ i64, i1 }} {both}, 0",
        f"{size} = select i1 {over}, i64 -1, i64 {product}",
    ], size
