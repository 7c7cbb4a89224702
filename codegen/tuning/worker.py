"""Inspecting and tuning one captured region, in a process of its own: it runs the user's code on captured memory.

`python -m tracecut.codegen.tuning.worker SPEC` reads a JSON specification, prints progress lines, and writes
`result.json` and the scope's schedule beside it.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from tracecut.codegen.host.region_library import batch_regions, load_regions, outline_regions
from tracecut.codegen.host.vector_versions import rounds_freely
from tracecut.codegen.ptx.alias_facts import gpu_facts
from tracecut.codegen.runtime.replay import Replay
from tracecut.codegen.runtime.rows.saved_columns import saved_columns
from tracecut.codegen.runtime.schedule_file import ScopeFile
from tracecut.codegen.schedule.graph.scope_graph import ScopeGraph, graph_size, scope_graph
from tracecut.codegen.schedule.guards.make_guard import make_guard
from tracecut.codegen.schedule.inspector.build_schedule import views_of
from tracecut.codegen.schedule.inspector.copies import renumbered
from tracecut.codegen.schedule.inspector.inspect_scope import Inspection, TooLargeError
from tracecut.ir.llvm.module_json import function_out, module_in
from tracecut.ir.machine.machine import Machine
from tracecut.support import dataclass_json, memory_amounts, memory_budget
from tracecut.support.errors import ScheduleError, TracecutError
from tracecut.support.files import load_json, write_json
from tracecut.support.garbage_collection import collect_seldom
from tracecut.support.optional_parts import optional
from tracecut.support.process.cpu_limit import CpuTime
from tracecut.support.process.early_worker import awaited
from tracecut.tracer.capture.snapshot import Capture
from tracecut.tracer.legality.evaluation.contents import bytes_kept
from tracecut.tracer.loops.program import Analysis
from tracecut.tracer.runtime.binding import support
from tracecut.tracer.runtime.fingerprint_key import Secret
from tracecut.tracer.runtime.link import take_runtime
from tracecut.tracer.toolchain.clang import Flags

from .choose_order import reference_matches, tune
from .choose_scope import choose_scope
from .inspect_variant import Captured, Wanted
from .live_values import address_values, start_values
from .plain_values import candidate_out, comparison_out, place_out
from .predict_orders import predict_orders
from .region_statistics import describe_region
from .sampled_verdict import passed_over_too, sampled_verdict
from .thread_shares import thread_placement, thread_talk
from .time_limits import TimeLimits
from .trial import Candidate, ChangedResultError, Subject, tolerances
from .warm_up import warm_up

HELD = 3  # the capture, a copy to run on, and what the original order left behind
PIN, VERTEX = 72, 96  # bytes of a graph, of orders of it that are compared, and of their schedules


class Worker:
    """One region: from its capture to a schedule."""

    looks_up = True  # code beside the regions may look up where records are

    def __init__(self, spec: dict[str, Any], began: float | None = None) -> None:
        """`began`: when the work on it did, on the clock of `timings`; None: now."""
        self.spec = spec
        self._last = time.perf_counter() if began is None else began
        self.secret = Secret.draw()
        self.folder = Path(spec["folder"])
        self.region = int(spec["region"])
        foreign = spec["machine"]
        self.foreign = None if foreign is None else dataclass_json.from_json(Machine, foreign)
        self.machine = self.foreign or Machine.detect()
        self.timings: dict[str, float] = {}
        self.result: dict[str, Any] = {
            "region": self.region,
            "timings": self.timings,
            "scopes_refused": {},
            "failures": [],
        }
        self.values = {int(loop): [(str(n), str(t)) for n, t in found] for loop, found in spec["values"].items()}
        self.rounds = 1  # entries of the layout of the chosen scope
        self.entries = {int(loop): int(count) for loop, count in spec["entries"].items()}

    def run(self) -> dict[str, Any]:
        """Inspect, choose, measure. Returns the result; a refusal is a result too."""
        self._stage("reading the capture")
        take_runtime(Path(self.spec["runtime"]).read_bytes())
        analysis = Analysis(module_in(json.loads(Path(self.spec["module"]).read_text())))
        capture, rows = Capture.load(self.spec["capture"]), frozenset(self.spec["with_rows"])
        self.captured = Captured(analysis, capture, self.region, self.values, with_rows=rows)
        self._done("load")
        self._stage("legality")
        with memory_budget.freed_memory_kept():
            self.result["others"] = passed_over_too(self.captured, self.machine, self.spec)
            looking = CpuTime(self.spec["looking"])
            self.result |= sampled_verdict(self.captured, self.machine, self.spec)
            chosen = None if "passed_over" in self.result else self._choose_scope(looking)
        self.result["inspected"] = looking.used
        self._done("legality")
        if chosen is None:
            return self.result
        scope, inspection = chosen
        verdict = inspection.verdicts[self.region]
        self.result |= {
            "class": verdict.kind,
            "reason": verdict.reason,
            "places": [place_out(p) for p in verdict.places],
        }
        self.result["jobs"] = inspection.accesses.size(self.region)
        if not verdict.movable:
            return self.result
        if self.spec["exact"] and verdict.rounding:
            self.result["inexact"] = True
            self.result["failed"] = f"{verdict.reason}: another order rounds differently, and --exact allows none of it"
            return self.result
        self.result["scope"] = scope
        self.result["kept"], self.result["stays"] = inspection.plan.told(), inspection.stays(self.region)
        trying = CpuTime(None)
        self._tune(scope, inspection)
        self.result["tried"] = trying.used
        return self.result

    def _choose_scope(self, looking: CpuTime) -> tuple[int, Inspection] | None:
        spec = self.spec

        def wanted() -> Wanted:
            limit = int(spec["memory"]) - self._held()
            return Wanted(bool(spec["renumber"]), bool(spec["exact"]), limit, self.looks_up)

        found = choose_scope(self.captured, spec, self.entries, wanted, looking)
        self.result["unfinished"] = found.unfinished
        self.result["scopes_refused"] = {str(scope): why for scope, why in found.refused.items()}
        if found.chosen is None:
            self.result |= {"class": "rejected", "reason": found.reason or "it cannot be run by itself"}
            self.result["places"] = []
            return None
        self.captured, self.rounds = found.chosen.captured, found.chosen.rounds
        return found.chosen.scope, found.chosen.inspection

    def _held(self) -> int:
        """Bytes of the captured memory and of the copies that are run on."""
        return HELD * bytes_kept(self.captured.capture.memory.contents)

    def _check_graph(self, inspection: Inspection) -> None:
        """Refuse a graph that does not fit. Raises TooLargeError with the number."""
        pins, jobs, data = graph_size(inspection.plan)
        needed, allowed = PIN * pins + VERTEX * (jobs + data), int(self.spec["memory"]) - self._held()
        if needed > allowed:
            place = inspection.accesses.nest.loops[self.region].place
            raise TooLargeError(
                f"an order would need {memory_amounts.size(needed)} for {jobs:,} iterations of {place}, {pins:,} "
                f"indices: {memory_amounts.size(allowed)} are left (--memory)"
            )

    def _tune(self, scope: int, inspection: Inspection) -> None:
        spec = self.spec
        self._stage("locality graph")
        self._check_graph(inspection)
        start = time.perf_counter()
        inspection.accesses.evaluation.forget()
        graph = scope_graph(inspection.plan)
        if self.foreign is not None:
            self._done("graph")
            self._predict(inspection, graph, self.foreign)
            return
        guard, objects = make_guard(inspection.accesses, support(), self.secret)
        self._done("graph")
        common = 1e3 * (time.perf_counter() - start + self.timings["legality"])
        self._stage("compiling the job")
        plan, analysis, nest = inspection.plan, self.captured.analysis, inspection.accesses.nest
        views = {region: views_of(plan, region) for region in plan.uses}
        groups, outlined = outline_regions(analysis, nest, views, {loop: renumbered(plan, loop) for loop in views})
        if rounds_freely(outlined[self.region].text):
            self.result["relaxed"] = True
            if spec["exact"]:
                self.result["failed"] = "compilers may round as they like (-ffast-math), and --exact allows none of it"
                return
        flags = Flags(
            tuple(spec["compile"]), tuple(spec["library_folders"]), tuple(spec["libraries"]), tuple(spec["objects"])
        )
        batches = batch_regions(outlined, inspection.accesses)
        memory = self.captured.capture.memory
        native = load_regions(analysis, outlined, batches, flags, self.folder / "regions.so", memory)
        threads = max(1, native.threads([int(cpu) for cpu in spec["cpus"]]))
        replay = Replay(
            self.captured.capture,
            inspection.accesses,
            self.region,
            outlined[self.region],
            native,
            self.captured.values[self.region],
            start_values(analysis, self.region),
            address_values(analysis, self.region),
            self.captured.image,
            {plan.arrays[place].object for space in plan.spaces for place in space.arrays},
        )
        inspection.accesses.evaluation.forget()  # orders ask for little of it
        self._done("compile")
        names = (outlined[self.region].name, *([batches[self.region].name] if self.region in batches else []))
        entries = self.rounds
        subject = Subject(
            inspection,
            graph,
            guard,
            objects,
            groups,
            outlined,
            self.region,
            replay,
            native,
            common,
            tuple(names),
            entries,
        )
        sweeps = max(1.0, self.entries.get(self.region, 1) / entries)
        self.result["sweeps"] = sweeps
        limits = TimeLimits(float(spec["budget"]), bool(spec["in_proportion"]), spec["deadline"])
        candidates, best = tune(
            subject,
            self.machine,
            limits,
            method=str(spec["method"]),
            threads=threads,
            seed=int(spec["seed"]),
            k=spec["k"],
            sweeps=sweeps,
            say=self._stage,
            compare=spec["compare"],
            reduce=str(spec["reduce"]),
            once="once" in self.result,
        )
        self._done("candidates")
        self.result["candidates"] = [candidate_out(item) for item in candidates]
        if best is None and spec["force"]:
            measured = [item for item in candidates[1:] if item.measured and not item.compared]
            best = min(measured, key=lambda item: item.cost(sweeps)) if measured else None
        if best is None:
            return
        self._check_identity(replay)
        self._save(scope, inspection, subject, candidates[0], best, threads)

    def _predict(self, inspection: Inspection, graph: ScopeGraph, machine: Machine) -> None:
        """For a machine that is not this one: no order runs, and no time of this one is among what is found."""
        spec = self.spec
        found, best = predict_orders(
            inspection,
            graph,
            machine,
            method=str(spec["method"]),
            k=spec["k"],
            threads=spec["threads"],
            seed=int(spec["seed"]),
            budget=float(spec["budget"]),
            say=self._stage,
        )
        self.result |= found
        self._done("candidates")
        with optional("reuse distances, degrees and replication", self.result["failures"]):
            cores = len(machine.cores)
            self.result |= describe_region(inspection, graph, best, self.region, machine, spec["threads"] or cores)
        self._done("report")

    def _check_identity(self, replay: Replay) -> None:
        """The identity order has to leave exactly what the program's own loop left."""
        after = self.spec.get("after")
        if not after:
            return
        from tracecut.codegen.runtime.executor import Executor

        executor = Executor(replay.native, replay.identity(), [], {self.region: replay.code(original=True)})
        executor.enter()
        replay.restore()
        replay.run(executor)
        self.result["identity_equal"] = reference_matches(Capture.load(after), replay.outcome(kept=False))

    def _save(
        self,
        scope: int,
        inspection: Inspection,
        subject: Subject,
        original: Candidate,
        best: Candidate,
        threads: int,
    ) -> None:
        count = best.threads if best.fastest > 1 else 1
        schedule = best.schedules[best.fastest]
        jobs = max(1, inspection.accesses.size(self.region) or 1)
        fastest = min(value for value in (best.region_ms, best.region_all_ms) if value is not None)
        milliseconds = {"original": original.region_ms, "optimized": fastest}
        milliseconds |= {"inspect": best.inspect_ms, "copy": best.copy_ms}
        first = int(self.spec["first_region"])
        regions = list(inspection.plan.uses)
        failures: list[str] = self.result["failures"]
        talk: dict[str, Any] = {"parts": 1, "pairs": []}
        with optional("the exchange of values between threads", failures):
            talk = thread_talk(subject.graph, schedule)
        file = ScopeFile(
            number=int(self.spec["number"]),
            numbers={region: first + place for place, region in enumerate(regions)},
            nest=inspection.accesses.nest,
            values=self.values[scope],
            regions=regions,
            movable=inspection.plan.movable,
            outlined=subject.outlined,
            schedule=schedule,
            key=self.secret,
            costs={name: 1e6 * (ms or 0.0) / jobs for name, ms in milliseconds.items()}
            | {"sweeps": self.entries.get(self.region, 1) / self.rounds},
            options={
                "method": best.method,
                "threads": count,
                "single": scope != self.region,
                "renumber": bool(self.spec["renumber"]),
                "exact": bool(self.spec["exact"]),
                "reduce": str(self.spec["reduce"]),
                "rounding": [str(place) for place in inspection.rounding()],
                "region": self.region,
                "variant": best.variant,
                "clusters": best.clusters,
                "seed": int(self.spec["seed"]),
                "talk": talk,
            },
            tables=self.captured.tables,
            used_rows=self.captured.used_rows,
            columns=saved_columns(inspection.accesses, self.captured.tables),
        )
        path = file.save(self.folder / "scope.npz")
        self.result |= {
            "schedule": str(path),
            "method": best.method,
            "threads": count,
            "variant": best.variant,
            "functions": {str(region): function_out(item.code) for region, item in subject.outlined.items()},
            "regions": regions,
            "comparison": comparison_out(best),
            "tolerance": tolerances(subject),
            "rounding": [str(place) for place in inspection.rounding()],
            "verdicts": {
                str(loop): [verdict.kind, verdict.reason, [place_out(place) for place in verdict.places]]
                for loop, verdict in inspection.verdicts.items()
            },
        }
        assert best.ordering is not None
        with optional("the placement of the threads", failures):
            allowed = sorted(int(cpu) for cpu in self.spec["cpus"])
            self.result["placement"] = thread_placement(subject.graph, schedule, count, allowed, talk)
        with optional("the analysis for GPU kernels", failures):
            self.result["gpu"] = {str(item): gpu_facts(inspection, subject.groups[item], item) for item in regions}
        with optional("reuse distances, degrees and replication", failures):
            self.result |= describe_region(inspection, subject.graph, best.ordering, self.region, self.machine, threads)
        self._done("report")

    def _stage(self, text: str) -> None:
        print(text, flush=True)

    def _done(self, name: str) -> None:
        now = time.perf_counter()
        self.timings[name] = now - self._last
        self._last = now


STARTED = time.perf_counter()


def main() -> None:
    collect_seldom()
    began = STARTED if Path(sys.argv[1]).exists() else None
    spec = load_json(awaited(Path(sys.argv[1]), warm_up), limit=1 << 30)
    worker = Worker(spec, began)
    try:
        result = worker.run()
    except (TracecutError, MemoryError) as error:
        needed = (
            f"it needs more than the {memory_amounts.size(int(spec['memory']))} of memory that are allowed (--memory)"
        )
        why = error.message if isinstance(error, TracecutError) else needed
        result = {**worker.result, "class": worker.result.get("class", "rejected"), "failed": why}
        if isinstance(error, ScheduleError):
            result["stopped"] = "replay" if isinstance(error, ChangedResultError) else "checker"
    write_json(Path(spec["folder"]) / "result.json", result)


if __name__ == "__main__":
    main()
