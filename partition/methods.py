"""All partitioning methods by name.

To add a method, write a plain function and one record of `METHODS`. The function gets what its record's `uses` names,
as keywords; any other keyword of the function is an option of the method.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tracecut.support.errors import ArgumentError

ARGUMENTS = frozenset(
    {"balance", "targets", "weights", "coords", "order", "passes", "refine", "hierarchy", "seed", "threads"}
)
LOADS = frozenset({"targets", "weights"})
BALANCED = frozenset({"balance", "targets", "weights", "seed"})
PLACED = LOADS | {"coords"}
COMPACT = PLACED | {"balance", "threads"}
STREAM = frozenset({"order"})
RESTREAM = frozenset({"balance", "targets", "weights", "order", "passes"})


@dataclass(frozen=True)
class Method:
    """One partitioning method.

    Attributes:
        name: how callers ask for it.
        kind: what its function makes. `"order"`: `function(graph, **uses) -> Ordering`. `"jobs"`, `"data"`:
            `function(graph, k, **uses) -> labels`, int32 in [0, k), of the jobs or of the data.
        source: the paper or the seed section.
        complexity: time, in jobs, data, pins and k.
        target: `"module:function"` in this package, imported when it is first used.
        uses: the arguments of `partition` that the function takes, out of `ARGUMENTS`.
        note: what a caller must know besides: where labels are not repeatable, what it stands in for.
        module: the Python module that must be installed for it, empty for none.
        repeatable: whether the same seed gives the same labels, on any number of threads.
        bare: a published rule whose labels are left as they are. All others leave no cluster empty where there are
            as many members as clusters.
        blind: its objective counts cut jobs, or copies, and does not weigh them. The others weigh them, or have no
            objective on the graph: orders, chunks, hashing and geometry.
        several: balances several weights of each datum.
    """

    name: str
    kind: str
    source: str
    complexity: str
    target: str
    uses: frozenset[str] = frozenset()
    note: str = ""
    module: str = ""
    repeatable: bool = True
    bare: bool = False
    blind: bool = False
    several: bool = False

    @property
    def installed(self) -> bool:
        """Whether all that it needs is installed; the module is not imported for that."""
        return not self.module or importlib.util.find_spec(self.module) is not None

    @cached_property
    def function(self) -> Callable[..., Any]:
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(f".{module}", __package__), name)

    def options(self) -> dict[str, Any]:
        """The options of the method and their defaults: the keywords of its function that `partition` has not."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.function).parameters.items()
            if parameter.kind is parameter.KEYWORD_ONLY and name not in ARGUMENTS
        }


def _rule(name: str, source: str, function: str, uses: frozenset[str]) -> Method:
    """A streaming rule as published."""
    complexity = "pins · passes" if "passes" in uses else "pins"
    return Method(name, "jobs", source, complexity, f"streaming.vertex_cut:{function}", uses, bare=True, blind=True)


def _placed(
    name: str, source: str, complexity: str, function: str, uses: frozenset[str] = PLACED, note: str = ""
) -> Method:
    """A geometric method, by where the data lie."""
    return Method(name, "data", source, complexity, f"geometric.{function}", uses, note=note)


def _followed(name: str, function: str) -> Method:
    """Jobs that follow a partition of their data."""
    source, target = "SPAC §3.3.3, Bourse et al. 2014", f"edge_cut.weighted_vertex:{function}"
    return Method(name, "jobs", source, "pins + METIS", target, BALANCED, blind=True)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("original", "order", "baseline", "jobs + data", "linear_orders.simple:original_order"),
        Method("first-touch", "order", "SPAC §4", "pins + data", "linear_orders.simple:first_touch_order"),
        Method("random", "order", "baseline", "jobs + data", "linear_orders.simple:random_order", frozenset({"seed"})),
        Method("rcm", "order", "Cuthill and McKee 1969", "pins + data", "linear_orders.rcm:rcm_order"),
        Method(
            "degree-z",
            "order",
            "TileSpMV §3, Morton 1966",
            "pins + data + jobs log data",
            "linear_orders.degree_z:degree_z_order",
        ),
        Method(
            "chunks", "jobs", "baseline", "jobs", "balance.rebalance:chunks", frozenset({"targets", "weights", "order"})
        ),
        Method(
            "metis",
            "data",
            "Karypis and Kumar 1998",
            "pins + METIS",
            "external.metis:metis_labels",
            BALANCED,
            note="plays ParMETIS too, which has no wheel: pmGraph in Hetero",
            module="pymetis",
            several=True,
        ),
        Method(
            "expansion",
            "jobs",
            "Zhang et al. 2017, Mayer and Jacobsen 2021",
            "pins · copies",
            "expansion.grow_hypergraph:expansion",
            LOADS,
            blind=True,
        ),
        Method(
            "multilevel",
            "jobs",
            "Schlag et al. 2016, Gottesbüren et al. 2021",
            "pins · log k",
            "multilevel.driver:multilevel",
            BALANCED | {"threads"},
        ),
        _placed("hilbert", "Zoltan HSFC, Hetero §III", "data", "space_filling_curves:hilbert", note="zSFC in Hetero"),
        _placed("morton", "Morton 1966", "data", "space_filling_curves:morton"),
        _placed("rcb", "Berger and Bokhari 1987", "data · log data · log k", "plane_cuts:rcb", note="zRCB in Hetero"),
        _placed("rib", "Simon 1991", "data · log data · log k", "plane_cuts:rib", note="zRIB in Hetero"),
        _placed("multijagged", "Deveci et al. 2016", "data · log data", "plane_cuts:multijagged"),
        Method(
            "kmeans",
            "data",
            "von Looz et al. 2018",
            "sweeps · (data + k²) + pins",
            "geometric.kmeans:kmeans",
            COMPACT,
            note="without borders geoKM in Hetero",
        ),
        _placed(
            *("hkmeans", "Hetero §V", "levels · sweeps · data + k² + pins", "kmeans:hkmeans"), COMPACT | {"hierarchy"}
        ),
        Method(
            "geographer-r",
            "data",
            "Hetero §V",
            "pins · log data",
            "geometric.geographer_r:geographer_r",
            COMPACT,
            note="geoRef in Hetero, with refinement='k-way' geoPMRef",
        ),
        Method(
            "parcubed",
            "data",
            "ParCubed §2",
            "pins · depth",
            "shared_memory.parcubed:parcubed",
            frozenset({"threads"}),
            note="as published: labels depend on the number of threads, and from two on on their timing",
            repeatable=False,
            blind=True,
        ),
        Method(
            "parcubed-det",
            "data",
            "ParCubed §2, improved",
            "pins",
            "shared_memory.parcubed_deterministic:parcubed_det",
            LOADS | {"balance", "threads"},
        ),
        Method(
            "gpart",
            "data",
            "Han and Tseng 2001, ParCubed §4",
            "pins · depth",
            "shared_memory.parcubed:gpart",
            blind=True,
        ),
        Method(
            "compnet",
            "data",
            "stand-in for CompNet, Xiao et al. 2017",
            "pins · log data",
            "community.compnet:compnet",
            LOADS | {"balance"},
        ),
        Method("spac-split", "jobs", "SPAC §3.2", "pins + METIS", "edge_cut.split_graph:spac_split", BALANCED),
        Method(
            "spac",
            "jobs",
            "SPAC §3.2, contracted",
            "pins + METIS",
            "edge_cut.split_connect:spac_labels",
            BALANCED | {"refine", "threads"},
        ),
        _followed("wvp-random", "wvp_random"),
        _followed("wvp-greedy", "wvp_greedy"),
        Method("dbh", "jobs", "Xie et al. 2014", "pins", "streaming.degree_hash:dbh", frozenset({"seed"}), bare=True),
        _rule("powergraph", "Gonzalez et al. 2012", "powergraph", STREAM),
        _rule("powergraph-simple", "SPAC §3.3.2", "powergraph_simple", STREAM),
        _rule("libra", "VertexCut §4.3", "libra", STREAM),
        _rule("w-pg", "VertexCut §4.3", "w_pg", STREAM | {"weights"}),
        _rule("w-libra", "VertexCut §4.3", "w_libra", STREAM | {"weights"}),
        _rule("wb-pg", "VertexCut §4.3", "wb_pg", RESTREAM),
        _rule("wb-libra", "VertexCut §4.3, algorithm 1", "wb_libra", RESTREAM),
        Method(
            "kaminpar",
            "data",
            "Gottesbüren et al. 2021",
            "pins + KaMinPar",
            "external.kaminpar_kahip_mtkahypar:kaminpar",
            BALANCED | {"threads"},
            note="repeatable on one thread, which is its default",
            module="kaminpar",
            repeatable=False,
        ),
        Method(
            "kahip",
            "data",
            "Sanders and Schulz 2013",
            "pins + KaHIP",
            "external.kaminpar_kahip_mtkahypar:kahip",
            BALANCED - {"targets"},
            note="its Python module takes no targets",
            module="kahip",
        ),
        Method(
            "mtkahypar",
            "data",
            "Gottesbüren et al. 2021, 2022",
            "pins + Mt-KaHyPar",
            "external.kaminpar_kahip_mtkahypar:mtkahypar",
            BALANCED | {"threads"},
            note="repeatable with the deterministic presets only",
            module="mtkahypar",
            repeatable=False,
        ),
        Method(
            "mtkahypar-km1",
            "jobs",
            "Gottesbüren et al. 2021, 2022",
            "pins + Mt-KaHyPar",
            "external.kaminpar_kahip_mtkahypar:mtkahypar_km1",
            BALANCED | {"threads"},
            note="repeatable with the deterministic presets only; plays PaToH and hMETIS too, which have no wheel",
            module="mtkahypar",
            repeatable=False,
        ),
    )
}
AUTO = Method(
    "auto",
    "any",
    "ours",
    "that of what it chooses",
    "auto:choose",
    ARGUMENTS - {"order", "passes", "hierarchy", "refine"},
    note="chooses by degrees, coordinates, size and a budget of seconds, and says why",
)


def methods(kind: str | None = None) -> tuple[Method, ...]:
    """All methods, `"auto"` the last, or those of one kind (`"order"`, `"jobs"`, `"data"`)."""
    if kind not in (None, "order", "jobs", "data"):
        raise ArgumentError(f"kind = {kind!r}, 'order', 'jobs' or 'data' expected")
    return tuple(method for method in (*METHODS.values(), AUTO) if kind in (None, method.kind))
