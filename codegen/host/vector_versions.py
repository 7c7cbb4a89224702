"""Range functions in two versions: as the user's flags say, and with wider vectors, chosen when the program runs.

A wider vector computes each of its lanes as a scalar does, so every bit stays what the user's flags give. What would
not stay is left alone: the fusing of products and sums comes with the user's own -march or not at all, and conversions
of numbers out of range, which C leaves undefined, are not made in another way.

```
define void @tc.loop.5(…)         →      define void @tc.loop.5(…) { tc_wide() ? @tc.loop.5.wide : @tc.loop.5.plain }
```
"""

from __future__ import annotations

import re

from tracecut.ir.llvm import Module
from tracecut.tracer.toolchain.passes import host_name

# What `tc_wide` (runtime.c) asks the processor for. No fma: it rounds once where a product and a sum round twice.
WIDE = "+avx,+avx2,+bmi,+bmi2,+popcnt,+sse3,+sse4.1,+sse4.2,+ssse3"
_RANGE = re.compile(r"define void @(tc\.(?:loop|batch)\.\d+)\(")
_UNDEFINED = re.compile(r"\bfptoui\b|\bfptosi\b[^\n]* to i(?:8|16)\b")
# What makes errno, or a text of it, of use to the program: then square roots have to set it.
_ERRNO = ("__errno_location", "perror", "strerror", "strerror_r", "err", "warn", "verr", "vwarn", "error", "syslog")
_FREE = re.compile(r"\b(?:fadd|fsub|fmul|fdiv|frem|fneg|call) [^%@(\n]*\b(?:fast|reassoc|contract|arcp|afn)\b")


def rounds_freely(text: str) -> bool:
    """Whether the user's flags (`-ffast-math` and its parts) let each compilation of the code round differently."""
    return _FREE.search(text) is not None


def add_versions(module: Module, *, alone: bool) -> None:
    """Give the range functions among the module's texts their versions, in place.

    Args:
        alone: nothing but this module and the system's libraries is in the program.
    """
    text = "\n".join(item for item in module.items if isinstance(item, str) and item.startswith("declare"))
    watched = not alone or re.search(rf"@(?:{'|'.join(_ERRNO)})\(", text) is not None
    groups = module.attribute_groups()
    found: list[str] = []
    added: dict[str, str] = {}
    roots: set[str] = set()
    for item in module.items:
        name = _RANGE.match(item) if isinstance(item, str) else None
        if name is None:
            found.append(item)  # type: ignore[arg-type]
            continue
        made = str(item) if watched else _inline_roots(str(item), roots)
        found += _versions(name.group(1), made, groups, added)
    module.items[:] = found
    for line in roots:
        if line not in text:
            module.append(line)
    for group, words in added.items():
        module.append(f"attributes {group} = {{ {words} }}")
    if added:
        module.append("declare i32 @tc_wide()")


def _versions(name: str, text: str, groups: dict[str, str], added: dict[str, str]) -> list[str]:
    header, _, body = text.partition("\n")
    used = re.findall(r"#\d+", header)
    words = " ".join(groups.get(group, "") for group in used)
    features = re.search(r'"target-features"="([^"]*)"', words)
    own = features.group(1) if features else ""
    if "avx" in own or _UNDEFINED.search(body):
        return [text]
    group = f"#{950_000 + len(added)}"
    rest = re.sub(r'"(?:target-features|tune-cpu)"="[^"]*"\s?', "", words).strip()
    added[group] = f'{rest} "target-features"="{",".join(filter(None, (own, WIDE)))}" "tune-cpu"="{host_name()}"'
    wide = re.sub(r"#\d+", "", header).replace("{", f"{group} {{").replace(f"@{name}(", f"@{name}.wide(")
    plain = header.replace(f"@{name}(", f"@{name}.plain(")
    passed = "i64 %tc.k0, i64 %tc.k1, ptr %tc.in, ptr %tc.out"
    choice = [
        header,
        "  %tc.wide = call i32 @tc_wide()",
        "  %tc.is = icmp ne i32 %tc.wide, 0",
        "  br i1 %tc.is, label %tc.yes, label %tc.no",
        "tc.yes:",
        f"  call void @{name}.wide({passed})",
        "  ret void",
        "tc.no:",
        f"  call void @{name}.plain({passed})",
        "  ret void",
        "}",
    ]
    internal = [line.replace("define void", "define internal void", 1) for line in (plain, wide)]
    return [f"{internal[0]}\n{body}", f"{internal[1]}\n{body}", "\n".join(choice)]


def _inline_roots(text: str, roots: set[str]) -> str:
    """Square roots without errno: one instruction, the same bits."""
    for function, suffix, type in (("sqrt", "f64", "double"), ("sqrtf", "f32", "float")):
        call = re.compile(rf"(call [^@\n]*)@{function}\({type} ")
        if call.search(text):
            text = call.sub(rf"\1@llvm.sqrt.{suffix}({type} ", text)
            roots.add(f"declare {type} @llvm.sqrt.{suffix}({type})")
    return text
