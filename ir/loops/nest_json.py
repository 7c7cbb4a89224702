"""Nests as plain JSON values, so that the host of a running program can evaluate them without the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tracecut.ir.llvm.debug_info import Place
from tracecut.support.errors import ArtefactError

from . import nest as nests
from .expressions import Expr, Pool, dump, restore
from .path_conditions import Condition, literals


def to_json(nest: nests.Nest) -> dict[str, Any]:
    """Plain values of a nest."""
    roots = [*nest.expressions(), *nest.values.values(), *(pointer for pointer, _ in nest.lent)]
    nodes, places = dump(roots)
    known = {id(expr): place for expr, place in zip(roots, places, strict=True)}
    return {
        "function": nest.function,
        "root": nest.root,
        "nodes": nodes,
        "loops": [_loop_out(loop, known) for loop in nest.loops.values()],
        "sites": [_site_out(site, known) for site in nest.sites],
        "index_data": {name: _places_out(found) for name, found in nest.index_data.items()},
        "stack": dict(nest.stack),
        "values": {name: known[id(expr)] for name, expr in nest.values.items()},
        "made": dict(nest.made),
        "loose": sorted(nest.loose),
        "signed": sorted(nest.signed),
        "lengths": [[*pair] for pair in nest.lengths],
        "lent": [[known[id(pointer)], size] for pointer, size in nest.lent],
        "exits": [[item.block, item.final] for item in nest.exits],
    }


def from_json(data: Mapping[str, Any]) -> nests.Nest:
    """The inverse of `to_json`. Raises ArtefactError on damaged input."""
    try:
        pool = Pool()
        nodes = restore(data["nodes"], pool)
        loops = [_loop_in(loop, nodes) for loop in data["loops"]]
        nest = nests.Nest(
            function=str(data["function"]),
            root=int(data["root"]),
            loops={loop.id: loop for loop in loops},
            sites=tuple(_site_in(site, nodes) for site in data["sites"]),
            index_data={str(name): _places_in(found) for name, found in data["index_data"].items()},
            stack={str(name): int(size) for name, size in data["stack"].items()},
            values={str(name): _node(nodes, place) for name, place in data["values"].items()},
            pool=pool,
            made={str(name): str(found) for name, found in data["made"].items()},
            loose=frozenset(map(str, data["loose"])),
            signed=frozenset(map(str, data["signed"])),
            lengths=tuple((str(start), str(end)) for start, end in data["lengths"]),
            lent=tuple((_node(nodes, place), int(size)) for place, size in data["lent"]),
            exits=tuple(nests.Exit(str(block), bool(final)) for block, final in data["exits"]),
        )
        _check(nest, nodes)
        return nest
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ArtefactError(f"the description of a loop is damaged: {error}") from error


def _check(nest: nests.Nest, nodes: list[Expr]) -> None:
    """Raise ValueError unless everything that is named is there, outer loops before inner ones."""
    seen: set[int] = set()
    for loop in nest.loops.values():
        if (loop.parent is None) != (loop.id == nest.root) or not (loop.parent is None or loop.parent in seen):
            raise ValueError(f"loop {loop.id} has no place in the nest")
        seen.add(loop.id)
        if loop.trip is not None and loop.trip.kind != "trip":
            raise ValueError(f"loop {loop.id} has no trip count")
        if min(loop.parts.values(), default=0) < 0:
            raise ValueError(f"loop {loop.id} has parts without a number")
    named = [site.loop for site in nest.sites]
    named += [int(node.data[0]) for node in nodes if node.kind in ("counter", "left")]
    if nest.root not in seen or not seen.issuperset(named):
        raise ValueError("a loop is missing")
    for site in nest.sites:
        if site.size < 0:
            raise ValueError(f"the access {site.key} has a negative size")


def _node(nodes: list[Expr], place: int) -> Expr:
    if not 0 <= place < len(nodes):
        raise ValueError(f"there is no expression {place}")
    return nodes[place]


def _place_out(place: Place) -> list[Any]:
    """Code inlined from a system header is followed by the line of the program, which messages name."""
    own = place.own
    found = [place.file, place.line, place.column, place.function]
    return found if own is place else [*found, own.file, own.line]


def _place_in(data: list[Any]) -> Place:
    own = Place(str(data[4]), int(data[5])) if len(data) == 6 else None
    return Place(str(data[0]), int(data[1]), int(data[2]), str(data[3]), own)


def _places_out(places: Iterable[Place]) -> list[list[Any]]:
    return [_place_out(place) for place in places]


def _places_in(data: Iterable[list[Any]]) -> tuple[Place, ...]:
    return tuple(_place_in(place) for place in data)


def _reach_out(reach: Condition, known: Mapping[int, int | None]) -> list[list[list[Any]]] | None:
    if reach is None:
        return None
    return [[[known[id(expr)], wanted] for expr, wanted in term] for term in literals(reach)]


def _reach_in(data: list[list[list[Any]]] | None, nodes: list[Expr]) -> Condition:
    if data is None:
        return None
    return frozenset(frozenset((_node(nodes, place), bool(wanted)) for place, wanted in term) for term in data)


def _loop_out(loop: nests.NestLoop, known: Mapping[int, int | None]) -> dict[str, Any]:
    return {
        "id": loop.id,
        "parent": loop.parent,
        "header": loop.header,
        "depth": loop.depth,
        "place": _place_out(loop.place),
        "trip": None if loop.trip is None else known[id(loop.trip)],
        "why": loop.why,
        "reach": _reach_out(loop.reach, known),
        "obstacles": [[item.kind, item.reason, _place_out(item.place)] for item in loop.obstacles],
        "carried": [[item.name, item.type, item.kind, item.operator, _place_out(item.place)] for item in loop.carried],
        "results": [[item.phi, item.value, item.type, item.kind] for item in loop.results],
        "instructions": loop.instructions,
        "counter_data": _places_out(loop.counter_data),
        "exit": list(loop.exit),
        "early": [[list(edge), _reach_out(taken, known)] for edge, taken in loop.early],
        "through": list(loop.through),
        "left": _places_out(loop.left),
        "parts": dict(loop.parts),
    }


def _loop_in(data: Mapping[str, Any], nodes: list[Expr]) -> nests.NestLoop:
    return nests.NestLoop(
        id=int(data["id"]),
        parent=None if data["parent"] is None else int(data["parent"]),
        header=str(data["header"]),
        depth=int(data["depth"]),
        place=_place_in(data["place"]),
        trip=None if data["trip"] is None else _node(nodes, data["trip"]),
        why=str(data["why"]),
        reach=_reach_in(data["reach"], nodes),
        obstacles=tuple(
            nests.Obstacle(nests.ObstacleKind(kind), reason, _place_in(place))
            for kind, reason, place in data["obstacles"]
        ),
        carried=tuple(_carried_in(item) for item in data["carried"]),
        results=tuple(
            nests.Result(phi, value, type, nests.ValueKind(kind)) for phi, value, type, kind in data["results"]
        ),
        instructions=int(data["instructions"]),
        counter_data=_places_in(data["counter_data"]),
        exit=_edge_in(data["exit"]),
        early=tuple((_edge_in(edge), _reach_in(taken, nodes)) for edge, taken in data["early"]),
        through=tuple(int(number) for number in data["through"]),
        left=_places_in(data["left"]),
        parts={str(key): int(part) for key, part in data["parts"].items()},
    )


def _edge_in(data: list[Any]) -> nests.Edge:
    inside, outside = data
    return str(inside), str(outside)


def _carried_in(item: list[Any]) -> nests.Carried:
    name, type, kind, operator, place = item
    return nests.Carried(str(name), str(type), nests.ValueKind(kind), str(operator), _place_in(place))


def _site_out(site: nests.Site, known: Mapping[int, int | None]) -> list[Any]:
    return [
        site.key,
        site.kind,
        str(site.effect),
        site.type,
        site.size,
        known[id(site.address)],
        None if site.length is None else known[id(site.length)],
        site.loop,
        _reach_out(site.reach, known),
        _place_out(site.place),
        list(site.between),
        site.effect.load if isinstance(site.effect, nests.Repeat) else site.load,
        site.private,
        site.apart,
        site.align,
    ]


def _site_in(data: list[Any], nodes: list[Expr]) -> nests.Site:
    key, kind, operator, type, size, address, length, loop, reach, place, between, load, private, apart, align = data
    return nests.Site(
        str(key),
        _effect_in(nests.AccessKind(kind), str(operator), str(load), tuple(map(str, between))),
        str(type),
        int(size),
        _node(nodes, address),
        None if length is None else _node(nodes, length),
        int(loop),
        _reach_in(reach, nodes),
        _place_in(place),
        None if private is None else int(private),
        bool(apart),
        int(align),
    )


def _effect_in(kind: nests.AccessKind, text: str, load: str, between: tuple[str, ...]) -> nests.Effect:
    """The effect of which `text` is the printed form."""
    if kind is nests.AccessKind.REDUCE:
        return nests.Reduce(text, load, between)
    if kind is nests.AccessKind.READ:
        return nests.Read()
    if text == "fill":
        return nests.Fill()
    loop, repeats, function = text.partition(" repeats ")
    if repeats:
        return nests.Repeat(function, load, int(loop), between)
    value, decided, loads = text.removeprefix("= ").partition(" from ")
    return nests.Put(value, tuple(loads.split()) if decided else None) if text else nests.Write()
