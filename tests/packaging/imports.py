"""Who imports whom: the arrows between files and rooms, the contract that they keep, and the picture made of them.

`python -m tests.packaging.imports` writes the picture of `docs/architecture.md` anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
MARKS = ("```mermaid\n", "```\n")
# Folder → the folders that it may import.
FOLDERS = {
    "support": set(),
    "ir": {"support"},
    "partition": {"support", "ir"},
    "mapping": {"support", "ir", "partition"},
    "tracer": {"support", "ir"},
    "codegen": {"support", "ir", "partition", "mapping", "tracer"},
    "tracecut": {"support", "ir", "partition", "mapping", "tracer", "codegen"},
}
# Room → the rooms of the same folder that it may import; what lies beside the rooms of a folder (".") may import all.
ROOMS = {
    "support": {"process": {"."}},
    "ir": {"llvm": set(), "loops": {"llvm"}, "machine": set(), "gpu": {"machine"}},
    "tracer": {
        "toolchain": set(),
        "recorded": {"toolchain"},
        "runtime": {"toolchain"},
        "loops": {"toolchain"},
        "legality": {"loops", "runtime"},
        "capture": {"toolchain", "runtime", "loops", "legality"},
        "trace": {"toolchain", "runtime"},
        "depgraph": {"toolchain", "runtime", "trace"},
    },
    "mapping": {
        "tasks": set(),
        "joint": set(),
        "placing": {"tasks"},
        "simulation": {"tasks"},
    },
    "codegen": {
        "schedule": set(),
        "host": {"schedule"},
        "runtime": {"schedule", "host"},
        "gpu": {"schedule"},
        "ptx": {"schedule", "host", "gpu"},
        "ranks": {"sparse"},
        "mining": {"sparse", "ranks", "products"},
        "emulation": {"ptx"},
        "cuda": {"ptx"},
        "devices": {"emulation"},
        "kernels": {"schedule", "host", "runtime", "gpu", "ptx", "emulation", "cuda", "devices"},
        "offload": {"schedule", "host", "runtime", "gpu", "ptx", "devices", "kernels"},
        "tuning": {"schedule", "host", "ptx", "runtime", "devices", "kernels", "offload"},
        "sparse": set(),
        "products": {"sparse", "ptx", "devices"},
    },
    "tracecut": {
        "report": set(),
        "pipeline": {"report"},
        "api": {"pipeline"},
        "cli": {"report", "pipeline", "api"},
    },
}
Arrows = Mapping[str, Set[str]]


def modules(root: Path) -> dict[str, str]:
    """Dotted name → path, of every file of the package."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            found[".".join(parts if folder == "tracecut" else ("tracecut", *parts))] = str(path.relative_to(root))
    return found


def imported(name: str, path: Path, known: Mapping[str, str]) -> Iterator[str]:
    """Dotted names of what a file imports of the package."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *(node.module.split(".") if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                if inner in known or base in known:
                    yield inner if inner in known else base


def arrows(root: Path) -> dict[str, set[str]]:
    """File → the files that it imports. Faces (`__init__`) hand on what lies below them: they are not asked."""
    known = modules(root)
    return {
        path: {known[target] for target in imported(name, root / path, known)} - {path}
        for name, path in known.items()
        if not path.endswith("__init__.py")
    }


@cache
def own_arrows() -> Arrows:
    """Those of this tree."""
    return arrows(ROOT)


def circle(found: Arrows) -> list[str]:
    """One circle, empty without any."""
    graph = nx.DiGraph([(source, target) for source, targets in found.items() for target in targets])
    try:
        return [source for source, _ in nx.find_cycle(graph)]
    except nx.NetworkXNoCycle:
        return []


def joined(found: Arrows, depth: int) -> dict[str, set[str]]:
    """Arrows between folders: those of the files in the first `depth` folders of their paths."""
    rooms: dict[str, set[str]] = {}
    for source, targets in found.items():
        room = "/".join(source.split("/")[:-1][:depth])
        rooms.setdefault(room, set()).update("/".join(target.split("/")[:-1][:depth]) for target in targets)
        rooms[room].discard(room)
    return rooms


def forbidden(found: Arrows) -> list[str]:
    """Arrows that the contract does not allow, each with its files."""
    wrong = []
    for source, target in sorted((source, target) for source, targets in found.items() for target in targets):
        (first, *inner), (second, *other) = source.split("/"), target.split("/")
        room, its = ("." if len(rest) == 1 else rest[0] for rest in (inner, other))
        rooms = ROOMS.get(first, {})
        if first != second:
            allowed = second in FOLDERS[first]
        else:
            allowed = room == its or room not in rooms or its in rooms[room] or (its == "." and first == "ir")
        if not allowed:
            wrong.append(f"{source} imports {target}")
    return wrong


def picture(found: Arrows) -> str:
    """Rooms and the arrows between them that no other arrows imply, as Mermaid draws them.

    `partition` is one room here: its families would be half of the picture.
    """
    rooms: dict[str, set[str]] = {}
    for source, targets in joined(found, 2).items():
        kept = rooms.setdefault(_shown(source), set())
        kept.update(map(_shown, targets))
        kept.discard(_shown(source))
    graph = nx.transitive_reduction(nx.DiGraph([(source, target) for source, to in rooms.items() for target in to]))
    lines = ["flowchart BT"]
    for folder in FOLDERS:
        lines.append(f"  subgraph in_{folder}[{folder}]")
        lines += [f"    {_node(room)}[{room}]" for room in sorted(rooms) if room.split("/")[0] == folder]
        lines.append("  end")
    lines += [f"  {_node(source)} --> {_node(target)}" for source, target in sorted(graph.edges)]
    return "\n".join(lines) + "\n"


def _shown(room: str) -> str:
    return "partition" if room.startswith("partition/") else room


def _node(room: str) -> str:
    return room.replace("/", "_")


def with_picture(page: str) -> str:
    """The page with the picture of today."""
    before, begin, rest = page.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    return before + begin + picture(own_arrows()) + end + after


if __name__ == "__main__":
    PAGE.write_text(with_picture(PAGE.read_text()))
