"""Range functions in two versions, with the user's flags and with wider vectors, selected at run time.

Each lane of a wider vector computes like a scalar, so results keep the bits that the user's flags give. Transformations
that would change bits are not enabled: fused multiply-add only with the user's own -march, and no other instructions
for conversions of out-of-range numbers, which are undefined in C.

```
define void @tc.loop.5(…)         →      define void @tc.loop.5(…) { tc_wide() ? @tc.loop.5.wide : @tc.loop.5.plain }
```
"""

from __future__ import annotations

import re

from tracecut.ir.llvm import Block, Function, Instruction, Module
from tracecut.tracer.toolchain.passes import host_name

# What `tc_wide` (runtime.c) asks the processor for. No fma: it rounds once where a product and a sum round twice.
WIDE = "+avx,+avx2,+bmi,+bmi2,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3"
_RANGE = re.compile(r"@tc\.(?:loop|batch)\.\d+$")
_UNDEFINED = re.compile(r"\bfptoui\b|\bfptosi\b[^\n]* to i(?:8|16)\b")
# What makes errno, or a text of it, of use to the program: then square roots have to set it.
_ERRNO = ("__errno_location", "perror", "strerror", "strerror_r", "err", "warn", "verr", "vwarn", "error", "syslog")
_ROOTS = {"@sqrt": ("@llvm.sqrt.f64", "double"), "@sqrtf": ("@llvm.sqrt.f32", "float")}
_FREE = re.compile(r"\b(?:fadd|fsub|fmul|fdiv|frem|fneg|call) [^%@(\n]*\b(?:fast|reassoc|contract|arcp|afn)\b")


def rounds_freely(text: str) -> bool:
    """Whether the user's flags (`-ffast-math` and its parts) let each compilation of the code round differently."""
    return _FREE.search(text) is not None


def add_versions(module: Module, *, alone: bool) -> None:
    """Give the range functions among the module's functions their versions, in place.

    Args:
        alone: nothing but this module and the system's libraries is in the program.
    """
    declared = module.declarations
    watched = not alone or any(f"@{name}" in declared for name in _ERRNO)
    groups = module.attribute_groups()
    found: list[str | Function] = []
    added: dict[str, str] = {}
    roots: dict[str, str] = {}
    for item in module.items:
        if isinstance(item, str) or not _RANGE.match(item.name):
            found.append(item)
        else:
            found += _versions(item if watched else _inline_roots(item, roots), groups, added)
    module.items[:] = found
    for name, line in roots.items():
        if name not in declared:
            module.append(line)
    for group, words in added.items():
        module.append(f"attributes {group} = {{ {words} }}")
    if added:
        module.append("declare i32 @tc_wide()")


def _versions(function: Function, groups: dict[str, str], added: dict[str, str]) -> list[Function]:
    name, header = function.name, function.header
    words = " ".join(groups.get(group, "") for group in function.attribute_groups)
    features = re.search(r'"target-features"="([^"]*)"', words)
    own = features.group(1) if features else ""
    if "avx" in own or any(_UNDEFINED.search(item.text) for _, item in function.instructions()):
        return [function]
    group = f"#{950_000 + len(added)}"
    rest = re.sub(r'"(?:target-features|tune-cpu)"="[^"]*"\s?', "", words).strip()
    added[group] = f'{rest} "target-features"="{",".join(filter(None, (own, WIDE)))}" "tune-cpu"="{host_name()}"'
    made = []
    for version, attributes in (("plain", header), ("wide", re.sub(r"#\d+", "", header).replace("{", f"{group} {{"))):
        text = attributes.replace("define void", "define internal void", 1)
        made.append(Function(f"{name}.{version}", text.replace(f"{name}(", f"{name}.{version}("), function.blocks))
    passed = "i64 %tc.k0, i64 %tc.k1, ptr %tc.in, ptr %tc.out"
    choice = [
        Block.of(
            "entry",
            [
                "%tc.wide = call i32 @tc_wide()",
                "%tc.is = icmp ne i32 %tc.wide, 0",
                "br i1 %tc.is, label %tc.yes, label %tc.no",
            ],
        ),
        Block.of("tc.yes", [f"call void {name}.wide({passed})", "ret void"]),
        Block.of("tc.no", [f"call void {name}.plain({passed})", "ret void"]),
    ]
    return [*made, Function(name, header, choice)]


def _inline_roots(function: Function, roots: dict[str, str]) -> Function:
    """Square roots without errno: one instruction, the same bits. `roots`: what it declares, by name."""
    made = function.copy()
    for block, call in function.instructions():
        found = _ROOTS.get(call.word) if call.op == "call" else None
        if found is None or call.type != found[1]:
            continue
        intrinsic, type = found
        place = block.instructions.index(call)
        text = call.text.replace(f"{call.word}(", f"{intrinsic}(", 1)
        made.block(block.name).instructions[place] = Instruction(text, call.meta)
        roots[intrinsic] = f"declare {type} {intrinsic}({type})"
    return made
