"""Machine descriptions as TOML: the fields of a Machine as text and back; errors name the line.

Tables are named after the fields. A run of equal cores (or banks) is one entry with `count`: each next core has the
next CPU number and lies `node_step` nodes on.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracecut.support.errors import ArtefactError

from .network import Network
from .parts import Bank, Cache, Core, Unit

MOST_ENTRIES = 1 << 17  # cores, banks or units that a file may describe
_SIZES = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
# Of each table: key → what its value must be; a key that ends in ? may be missing.
_TOP = {
    "name": "word",
    "memory": "size",
    "memory_latency?": "whole",
    "clock?": "number",
    "issue_width?": "whole",
    "mshrs?": "whole",
    "notes?": "words",
    "network?": "network",
    "caches": "caches",
    "cores": "cores",
    "banks?": "banks",
    "units?": "units",
}
_NETWORK = {
    "kind": "word",
    "shape": "wholes",
    "bandwidth?": "number",
    "hop_latency?": "whole",
    "flit?": "whole",
    "distances?": "distances",
}
_CACHE = {
    "level": "whole",
    "size": "size",
    "line?": "whole",
    "ways?": "whole",
    "shared_by?": "whole",
    "latency?": "whole",
}
_CORES = {"cpu": "whole", "node?": "whole", "speed?": "number", "count?": "whole", "node_step?": "whole"}
_BANKS = {"node": "whole", "size": "size", "bandwidth?": "number", "count?": "whole", "node_step?": "whole"}
_UNIT = {"kind": "word", "cores": "numbers", "parent?": "parent", "caches?": "caches"}
_EXPECTED = {
    "word": "a text",
    "size": 'a size in bytes or such as "64 KiB"',
    "whole": "a whole number of at least 0",
    "number": "a finite number",
    "words": "a list of texts",
    "wholes": "a list of whole numbers of at least 0",
    "numbers": 'numbers of cores such as "0-3,8"',
    "parent": "a whole number of at least -1",
    "distances": "a list of whole numbers, or of such lists",
    "network": "a table",
    "caches": "a list of tables",
    "cores": "a list of tables",
    "banks": "a list of tables",
    "units": "a list of tables",
}


class _Reader:
    """Reads one text; `where` names the file in errors."""

    def __init__(self, text: str, where: str) -> None:
        self.lines, self.where = text.splitlines(), where

    def fail(self, path: Sequence[str | int], what: str) -> ArtefactError:
        line = self._line(path)
        named = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        return ArtefactError(f"{self.where}{f', line {line}' if line else ''}: {named} {what}")

    def _line(self, path: Sequence[str | int]) -> int:
        """Line of a key, else of the table that it belongs to; 0 when it is not found."""
        table, entry, key = "", 0, ""
        if len(path) >= 2 and isinstance(path[1], int):
            table, entry, key = str(path[0]), path[1], str(path[2]) if len(path) > 2 else ""
        elif len(path) == 2:
            table, key = str(path[0]), str(path[1])
        elif path:
            key = str(path[0])
        seen, inside, header = -1, not table, 0
        for number, line in enumerate(self.lines, 1):
            found = re.match(r"\s*\[\[?\s*([\w.]+)\s*\]?\]", line)
            if found:
                seen += found[1] == table
                inside = found[1] == table and (seen == entry or not isinstance(path[1], int)) if table else False
                header = number if inside or (not table and found[1] == key) else header
            elif inside and key and re.match(rf"\s*{re.escape(key)}\s*=", line):
                return number
        return header

    def table(self, value: Mapping[str, Any], keys: Mapping[str, str], path: tuple[str | int, ...]) -> dict[str, Any]:
        known = {key.rstrip("?"): kind for key, kind in keys.items()}
        for key in value:
            if key not in known:
                raise self.fail((*path, key), f"is not known; known are {', '.join(known)}")
        for key in keys:
            if not key.endswith("?") and key not in value:
                raise self.fail((*path, key), f"is missing; {_EXPECTED[keys[key]]} was expected")
        return {key: self.value(value[key], known[key], (*path, key)) for key in value}

    def value(self, value: Any, kind: str, path: tuple[str | int, ...]) -> Any:
        read = getattr(self, f"_{kind}")(value, path)
        if read is None:
            raise self.fail(path, f"= {_short(value)}: {_EXPECTED[kind]} was expected")
        return read

    def _word(self, value: Any, path: Any) -> str | None:
        return value if isinstance(value, str) and value.isprintable() else None

    def _words(self, value: Any, path: Any) -> tuple[str, ...] | None:
        good = isinstance(value, list) and all(self._word(each, path) is not None for each in value)
        return tuple(value) if good else None

    def _whole(self, value: Any, path: Any) -> int | None:
        return value if type(value) is int and 0 <= value < 2**63 else None

    def _parent(self, value: Any, path: Any) -> int | None:
        return value if type(value) is int and -1 <= value < 2**31 else None

    def _number(self, value: Any, path: Any) -> float | None:
        good = type(value) in (int, float) and abs(value) < float("inf")
        return float(value) if good else None

    def _wholes(self, value: Any, path: Any) -> tuple[int, ...] | None:
        good = isinstance(value, list) and all(self._whole(each, path) is not None for each in value)
        return tuple(value) if good else None

    def _size(self, value: Any, path: Any) -> int | None:
        if isinstance(value, str):
            found = re.fullmatch(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([A-Za-z]*)\s*", value)
            if found is None or found[2].upper() not in _SIZES:
                return None
            amount = round(float(found[1]) * _SIZES[found[2].upper()])
            return amount if amount < 2**63 else None
        return self._whole(value, path)

    def _numbers(self, value: Any, path: Any) -> tuple[int, ...] | None:
        return numbers_of(value) if isinstance(value, str) else None

    def _distances(self, value: Any, path: Any) -> tuple[Any, ...] | None:
        rows = isinstance(value, list) and value and isinstance(value[0], list)
        if not rows:
            return self._wholes(value, path)
        found = [self._wholes(row, path) for row in value]
        return None if None in found else tuple(found)

    def _network(self, value: Any, path: Any) -> Network | None:
        return Network(**self.table(value, _NETWORK, path)) if isinstance(value, dict) else None

    def _tables(self, value: Any, keys: Mapping[str, str], path: Any) -> Iterator[dict[str, Any]] | None:
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            return None
        if len(value) > MOST_ENTRIES:
            raise self.fail(path, f"has {len(value)} entries, at most {MOST_ENTRIES} were expected")
        return (self.table(each, keys, (*path, place)) for place, each in enumerate(value))

    def _caches(self, value: Any, path: Any) -> tuple[Cache, ...] | None:
        found = self._tables(value, _CACHE, path)
        return None if found is None else tuple(Cache(**each) for each in found)

    def _cores(self, value: Any, path: Any) -> tuple[Core, ...] | None:
        found = self._tables(value, _CORES, path)
        return None if found is None else tuple(Core(**each) for each in self._repeated(found, path, ("cpu",)))

    def _banks(self, value: Any, path: Any) -> tuple[Bank, ...] | None:
        found = self._tables(value, _BANKS, path)
        return None if found is None else tuple(Bank(**each) for each in self._repeated(found, path, ()))

    def _units(self, value: Any, path: Any) -> tuple[Unit, ...] | None:
        found = self._tables(value, _UNIT, path)
        return None if found is None else tuple(Unit(**each) for each in found)

    def _repeated(
        self, entries: Iterator[dict[str, Any]], path: Any, rising: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        total = 0
        for place, entry in enumerate(entries):
            count, step = entry.pop("count", 1), entry.pop("node_step", 0)
            total += count
            if count < 1 or total > MOST_ENTRIES:
                raise self.fail((*path, place, "count"), f"= {count}: from 1 to {MOST_ENTRIES} in all were expected")
            for i in range(count):
                more = {name: entry[name] + i for name in rising}
                yield {**entry, **more, **({"node": entry.get("node", 0) + i * step} if step else {})}


def fields_of(text: str, where: str) -> dict[str, Any]:
    """Fields of a Machine out of TOML. Raises ArtefactError, which names `where`, the line and the key."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ArtefactError(f"{where} is no TOML: {error}") from None
    except RecursionError:
        raise ArtefactError(f"{where} is nested too deeply") from None
    reader = _Reader(text, where)
    return reader.table(value, _TOP, ())


def line_of(text: str, message: str) -> int:
    """Line of the entry whose key (`cores[4].node`) a message about the machine in `text` begins with; 0: unknown."""
    found = re.match(r"(\w+)(?:\[(\d+)\])?(?:\.(\w+))?", message)
    if found is None:
        return 0
    table, entry, key = found[1], found[2], found[3]
    path: list[str | int] = [table]
    if entry is not None:
        path.append(_entry_of(tomllib.loads(text).get(table), int(entry)))
    path += [key] if key else []
    return _Reader(text, "")._line(path)


def _entry_of(entries: Any, item: int) -> int:
    """Which of a list of tables describes an item, where an entry stands for `count` of them."""
    for place, entry in enumerate(entries if isinstance(entries, list) else ()):
        item -= entry.get("count", 1)
        if item < 0:
            return place
    return 0


def text_of(fields: Mapping[str, Any]) -> str:
    """TOML of the fields of a Machine; `fields_of` gives them back."""
    lines = [f"name = {_quoted(fields['name'])}", f"memory = {fields['memory']}"]
    for key in ("memory_latency", "clock", "issue_width", "mshrs"):
        lines.append(f"{key} = {fields[key]!r}")
    if fields["notes"]:
        lines.append(f"notes = [{', '.join(map(_quoted, fields['notes']))}]")
    network = fields["network"]
    if network is not None:
        lines += ["", "[network]", f"kind = {_quoted(network.kind)}", f"shape = {list(network.shape)}"]
        lines += [f"{key} = {getattr(network, key)!r}" for key in ("bandwidth", "hop_latency", "flit")]
        if network.distances:
            rows = [list(row) if isinstance(row, tuple) else row for row in network.distances]
            lines.append(f"distances = {rows}")
    for cache in fields["caches"]:
        lines += ["", "[[caches]]", *_entries(cache, Cache(0, 0))]
    for core, count, step in _runs(fields["cores"]):
        lines += ["", "[[cores]]", *_entries(core, Core(-1)), *_repeat(count, step)]
    for bank, count, step in _runs(fields["banks"]):
        lines += ["", "[[banks]]", *_entries(bank, Bank(-1, -1)), *_repeat(count, step)]
    for unit in fields["units"]:
        lines += ["", "[[units]]", f"kind = {_quoted(unit.kind)}", f"cores = {_quoted(ranges_of(unit.cores))}"]
        lines += [f"parent = {unit.parent}"] if unit.parent >= 0 else []
        caches = [f"{{ {', '.join(_entries(cache, Cache(0, 0)))} }}" for cache in unit.caches]
        lines += [f"caches = [{', '.join(caches)}]"] if caches else []
    return "\n".join(lines) + "\n"


def numbers_of(text: str) -> tuple[int, ...] | None:
    """`0-3,8` → (0, 1, 2, 3, 8); None for what is no such list, or longer than MOST_ENTRIES."""
    found: list[int] = []
    for part in text.strip().split(","):
        bounds = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        if bounds is None:
            return None
        low, high = int(bounds[1]), int(bounds[2] or bounds[1])
        if high < low or len(found) + high - low >= MOST_ENTRIES:
            return None
        found += range(low, high + 1)
    return tuple(found)


def ranges_of(numbers: Sequence[int]) -> str:
    """(0, 1, 2, 3, 8) → `0-3,8`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def _runs(items: Sequence[Any]) -> Iterator[tuple[Any, int, int]]:
    """First item, length and step of the nodes of each run that `count` can stand for."""
    at = 0
    while at < len(items):
        first, count, step = items[at], 1, None
        while at + count < len(items):
            other, before = items[at + count], items[at + count - 1]
            here = other.node - before.node
            if here < 0 or (step is not None and here != step) or not _follows(before, other):
                break
            step, count = here, count + 1
        yield first, count, step or 0
        at += count


def _follows(before: Any, other: Any) -> bool:
    if isinstance(before, Core):
        return bool(other.cpu == before.cpu + 1 and other.speed == before.speed)
    return bool(other.size == before.size and other.bandwidth == before.bandwidth)


def _repeat(count: int, step: int) -> list[str]:
    return ([f"count = {count}"] if count > 1 else []) + ([f"node_step = {step}"] if count > 1 and step else [])


def _entries(record: Any, default: Any) -> list[str]:
    """The fields of a record that differ from its defaults."""
    names = record.__dataclass_fields__
    return [f"{name} = {getattr(record, name)!r}" for name in names if getattr(record, name) != getattr(default, name)]


def _quoted(text: str) -> str:
    return '"' + "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in text) + '"'


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
