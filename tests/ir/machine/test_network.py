"""Distances and routes of every kind of network, against shortest paths in a graph built from its description."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest
from tracecut.ir.machine.network import Network
from tracecut.support.errors import ArgumentError

pytestmark = pytest.mark.quick
NETWORKS = (
    *(Network("mesh", (4, 3)), Network("mesh", (1, 5)), Network("mesh", (1, 1)), Network("torus", (5, 4))),
    *(Network("torus", (2, 3)), Network("tree", (3, 2)), Network("tree", (2, 2, 3)), Network("full", (4,))),
    Network("bus", (3,)),
)


def graph_of(network: Network) -> nx.Graph:
    """Nodes 0 … n − 1 with what joins them."""
    if network.kind in ("full", "bus"):
        return nx.complete_graph(network.nodes)
    if network.kind == "tree":
        tree, leaves = nx.Graph(), [()]
        for fan in network.shape:
            tree.add_edges_from((place, (*place, child)) for place in leaves for child in range(fan))
            leaves = [(*place, child) for place in leaves for child in range(fan)]
        return nx.relabel_nodes(tree, {leaf: number for number, leaf in enumerate(leaves)})
    width, height = network.shape
    grid = nx.grid_2d_graph(width, height, periodic=network.kind == "torus")
    return nx.relabel_nodes(grid, {(x, y): y * width + x for x, y in product(range(width), range(height))})


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: f"{network.kind}{network.shape}")
def test_hops_are_shortest_paths(network: Network) -> None:
    lengths = dict(nx.all_pairs_shortest_path_length(graph_of(network)))
    table = network.table(np.arange(network.nodes))
    for a, b in product(range(network.nodes), repeat=2):
        assert network.distance(a, b) == table[a, b] == lengths[a][b]
        route = network.route(a, b)
        assert route.size == lengths[a][b] <= network.longest_route
        assert np.unique(route).size == route.size and (route < network.links).all()


def test_every_direction_has_its_link() -> None:
    for network in NETWORKS:
        if network.kind == "bus":
            continue
        used: dict[int, tuple[int, int]] = {}
        for a, b in product(range(network.nodes), repeat=2):
            route = network.route(a, b).tolist()
            if len(route) == 1:
                assert used.setdefault(route[0], (a, b)) == (a, b)


def test_messages_go_along_x_first() -> None:
    mesh = Network("mesh", (4, 4))
    assert mesh.route(0, 15).tolist() == [0, 4, 8, 14, 30, 46]
    assert mesh.route(15, 0).tolist() == [61, 57, 53, 51, 35, 19]
    torus = Network("torus", (4, 4))
    assert torus.route(0, 3).tolist() == [1] and torus.route(0, 12).tolist() == [3]


def test_distances_that_are_given() -> None:
    tree = Network("tree", (4, 4, 4), distances=(100, 10, 1))
    assert [tree.distance(0, other) for other in (0, 1, 4, 16, 63)] == [0, 1, 10, 100, 100]
    full = Network("full", (3,), distances=((0, 5, 7), (5, 0, 2), (6, 2, 0)))
    assert full.distance(0, 2) == 7 and full.distance(2, 0) == 6
    assert Network("bus", (5,)).distance(1, 4) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"kind": "ring", "shape": (4,)}, "network.kind = 'ring', one of mesh"),
        ({"kind": "mesh", "shape": (4,)}, "a mesh has 2 whole numbers"),
        ({"kind": "mesh", "shape": (4, 0)}, "at least 1"),
        ({"kind": "mesh", "shape": (True, 2)}, "at least 1"),
        ({"kind": "mesh", "shape": (10_000, 1_000)}, "has 10000000 nodes, at most 131072"),
        ({"kind": "tree", "shape": ()}, "at least 1"),
        ({"kind": "bus", "shape": (2,), "bandwidth": 0.0}, "network.bandwidth = 0.0"),
        ({"kind": "bus", "shape": (2,), "bandwidth": float("nan")}, "network.bandwidth = nan"),
        ({"kind": "bus", "shape": (2,), "hop_latency": -1}, "network.hop_latency = -1"),
        ({"kind": "bus", "shape": (2,), "flit": 0}, "network.flit = 0"),
        ({"kind": "mesh", "shape": (2, 2), "distances": (1,)}, "a mesh has none of its own"),
        ({"kind": "tree", "shape": (2, 2), "distances": (1,)}, "a tree of 2 levels has as many"),
        ({"kind": "tree", "shape": (2, 2), "distances": (1, 5)}, "none longer"),
        ({"kind": "full", "shape": (2,), "distances": ((0, 1),)}, "2 rows of 2"),
        ({"kind": "full", "shape": (2,), "distances": ((0, 0), (1, 0))}, r"distances\[0\]\[1\] = 0"),
        (
            {"kind": "full", "shape": (2,), "distances": ((0, 5_000_000_000), (1, 0))},
            r"\[0\]\[1\] = 5.*from 1 to 1073741823",
        ),
        ({"kind": "full", "shape": (2,), "distances": ((0, 1.5), (1, 0))}, r"distances\[0\]\[1\] = 1.5"),
        ({"kind": "full", "shape": (2,), "distances": ((0, float("nan")), (1, 0))}, r"distances\[0\]\[1\] = nan"),
        ({"kind": "full", "shape": (2,), "distances": 3}, "network.distances: a tuple"),
        ({"kind": "tree", "shape": (2, 2), "distances": (2**40, 1)}, "a tree of 2 levels"),
        ({"kind": "mesh", "shape": 2}, "network.shape = 2"),
        ({"kind": "bus", "shape": (2.5,)}, "a bus has 1 whole number of"),
        ({"kind": "bus", "shape": (2,), "flit": 0.5}, "network.flit = 0.5, a positive whole number"),
        ({"kind": "bus", "shape": (2,), "hop_latency": 2**70}, "network.hop_latency = .*of at most 1073741823 was"),
        (
            {"kind": "bus", "shape": (2,), "flit": 2**63 - 1},
            "network.flit = 9223372036854775807.*of at most 1073741823",
        ),
        ({"kind": "bus", "shape": (2,), "bandwidth": 1e-300}, "network.bandwidth = 1e-300, from"),
        ({"kind": "bus", "shape": (2,), "bandwidth": "x"}, "network.bandwidth = 'x'"),
    ],
)
def test_what_is_no_network(arguments: dict[str, object], why: str) -> None:
    with pytest.raises(ArgumentError, match=why):
        Network(**arguments)  # type: ignore[arg-type]


def test_tables_have_a_limit() -> None:
    with pytest.raises(ArgumentError, match="a table of 8193 nodes"):
        Network("bus", (9000,)).table(np.arange(8193))
    with pytest.raises(ArgumentError, match="has 4 nodes, 4 was asked for"):
        Network("mesh", (2, 2)).table([4])
