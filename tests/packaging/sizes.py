"""How large the rooms are: `python -m tests.packaging.sizes` prints the table, of the files as they are."""

from __future__ import annotations

from pathlib import Path

from .imports import FOLDERS, ROOT

CODE = (".py", ".c", ".h")


def sizes(root: Path) -> dict[str, tuple[int, int]]:
    """Room → its files and their lines, `tests` and `benchmarks` as one room each; largest folder first."""
    found: dict[str, tuple[int, int]] = {}
    for folder in (*FOLDERS, "benchmarks", "tests"):
        for path in (root / folder).rglob("*"):
            if path.suffix in CODE:
                inner = path.parent.relative_to(root).parts
                room = "/".join(inner[: 2 if folder in FOLDERS else 1])
                files, lines = found.get(room, (0, 0))
                found[room] = (files + 1, lines + len(path.read_text(encoding="utf-8").splitlines()))
    return found


def table(found: dict[str, tuple[int, int]]) -> str:
    """As Markdown; the last row is the sum without tests and benchmarks."""
    product = [size for room, size in found.items() if room.split("/")[0] in FOLDERS]
    rows = [*sorted(found.items()), ("all but tests and benchmarks", tuple(map(sum, zip(*product, strict=True))))]
    lines = ["| room | files | lines |", "|---|---:|---:|"]
    return "\n".join([*lines, *(f"| {room} | {files} | {count} |" for room, (files, count) in rows)])


if __name__ == "__main__":
    print(table(sizes(ROOT)))
