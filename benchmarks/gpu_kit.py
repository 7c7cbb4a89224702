"""A kit for a machine with a card: programs that were compiled and instrumented elsewhere, and their inputs there.

`prepare` needs all of tracecut, its compiler too; `loop_of_kit` needs no compiler. Paths in a kit are relative to it.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_programs import CASES, SAMPLES, SMALL, Inspector, Loop, capture_and_inspect
from tracecut.support.errors import ArtefactError, UnsupportedError
from tracecut.support.version import __version__
from tracecut.tracer.capture.snapshot import Capture, Profile
from tracecut.tracer.runtime import binding
from tracecut.tracer.runtime.compile_support import support_object
from tracecut.tracer.runtime.link import runtime_object, shared_library, take_runtime
from tracecut.tracer.toolchain.flags import Flags

KIT = "kit.json"
MOST = 50_000_000  # bytes
SUPPORT = "support.so"
PORTABLE = ("-fno-slp-vectorize", "-march=x86-64-v3")  # the run-time support for most processors of today
KEPT = ("module.json", "program", "runtime.o", "capture/traced.so", "capture/watch.so")


@dataclass(frozen=True)
class Input:
    """A program's arguments on a card. `jobs`: about how many its layout scope has."""

    program: str
    size: str
    arguments: tuple[str, ...]
    jobs: float


def _refined(name: str, scale: int, jobs: float, *more: str) -> Input:
    return Input(name, str(scale), ("--scale", str(scale), *more), jobs)


# Each once with data that fit into the L2 of a large card, and once with more.
INPUTS = (
    _refined("mesh_flux", 3, 1.0e6, "--steps", "2"),
    _refined("mesh_flux", 5, 16.7e6, "--steps", "2"),
    _refined("md_forces", 2, 1.4e6, "--steps", "2"),
    _refined("md_forces", 4, 6.7e6, "--steps", "2"),
    _refined("spmv_cg", 4, 4.2e6, "--steps", "1", "--iterations", "4"),
    _refined("spmv_cg", 5, 16.6e6, "--steps", "1", "--iterations", "4"),
    _refined("graph_heat", 17, 1.0e6, "--steps", "2"),
    _refined("graph_heat", 20, 8.4e6, "--steps", "2"),
    Input("cfd cells", "1000", ("1000", "2"), 1.0e6),
    Input("cfd cells", "2200", ("2200", "2"), 4.8e6),
    Input("cfd faces", "700", ("700", "2"), 1.0e6),
    Input("cfd faces", "2000", ("2000", "2"), 8.0e6),
)


# As small as programs take them, for the card that a CPU stands for.
SMALL_INPUTS = tuple(Input(name, "small", arguments, 1e4) for name, arguments in SMALL.items())


def natural(item: Input) -> tuple[str, ...]:
    """Its arguments with data numbered as they lie."""
    word = "--natural" if "--scale" in item.arguments else "natural"
    return (*item.arguments, word)


def prepare(kit: Path, programs: Collection[str] = tuple(CASES)) -> None:
    """Compile the programs, find their loops on small inputs, and put what a card's machine needs into a folder.

    Raises ArtefactError for a kit of more than 50 MB.
    """
    kit.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"tracecut": __version__, "machine": platform.machine(), "programs": {}, "files": {}}
    take_runtime(support_object(Path(binding.__file__).parent / "native" / "runtime.c", PORTABLE))
    library = shared_library([runtime_object()], Flags(), kit / SUPPORT)
    found["files"][SUPPORT] = hashlib.sha256(library.read_bytes()).hexdigest()
    for name in programs:
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            loop, spec = capture_and_inspect(CASES[name], SMALL[name], work)
            request = json.loads((work / "capture" / "spec.json").read_text())
            found["programs"][name] = {"place": loop.place, "capture": request, "region": spec, "folder": folder}
            for file in KEPT:
                data = (work / file).read_bytes()
                path = kit / name.replace(" ", "-") / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                found["files"][str(path.relative_to(kit))] = hashlib.sha256(data).hexdigest()
        print(f"{name}: {loop.place}", flush=True)
    found["digest"] = _digest(found)
    (kit / KIT).write_text(json.dumps(found))
    check_size(kit)


def check_size(kit: Path) -> int:
    """Bytes of a kit. Raises ArtefactError for one that is too large to be carried around."""
    sizes = {path: path.stat().st_size for path in kit.rglob("*") if path.is_file()}
    if sum(sizes.values()) > MOST:
        largest = max(sizes, key=lambda path: sizes[path])
        raise ArtefactError(
            f"{kit} has {sum(sizes.values()) / 1e6:.0f} MB, at most {MOST / 1e6:.0f} were expected; "
            f"the largest file is {largest.relative_to(kit)} with {sizes[largest] / 1e6:.0f} MB",
            hint="Make it of fewer programs: --programs.",
        )
    return sum(sizes.values())


def _digest(found: dict[str, Any]) -> str:
    """Of all that a kit says of itself."""
    said = json.dumps({name: value for name, value in found.items() if name != "digest"}, sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def read_kit(kit: Path) -> dict[str, Any]:
    """What is in a kit. Raises ArtefactError for one that is damaged, of another version, or for another processor."""
    try:
        found = json.loads((kit / KIT).read_text())
        version, machine, files = found["tracecut"], found["machine"], found["files"]
        missing = [] if found["digest"] == _digest(found) else [KIT]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtefactError(f"{kit} is no kit: {error}") from error
    if version != __version__:
        raise ArtefactError(f"{kit} is a kit of tracecut {version}, this is {__version__}")
    if machine != platform.machine():
        raise ArtefactError(f"{kit} is a kit for {machine}, this machine is {platform.machine()}")
    if missing:
        raise ArtefactError(f"{kit} is damaged: {KIT}")
    for name, digest in files.items():
        path = kit / name
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            missing.append(name)
    if missing:
        raise ArtefactError(f"{kit} is damaged: {', '.join(missing)}")
    return dict(found)


def loop_of_kit(kit: Path, found: dict[str, Any], item: Input, arguments: tuple[str, ...], work: Path) -> Loop:
    """The loop of one program, captured with these arguments: what kernels are made of. Raises UnsupportedError."""
    home, entry = kit / item.program.replace(" ", "-"), found["programs"][item.program]
    for file in KEPT:
        path = work / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((home / file).read_bytes())
        path.chmod(0o755)
    request, spec = (
        json.loads(json.dumps(entry[name]).replace(entry["folder"], str(work))) for name in ("capture", "region")
    )
    request |= {"argv": [str(work / "program"), *arguments], "byte_limit": 32 << 30, "memory": 96 << 30}
    path = work / "capture" / "spec.json"
    path.write_text(json.dumps(request))
    command = [sys.executable, "-P", "-m", "tracecut.tracer.capture.child", str(path)]
    # The programs' data are in the repository.
    run = subprocess.run(command, capture_output=True, text=True, cwd=SAMPLES.parent)
    if run.returncode:
        raise UnsupportedError(f"{item.program} ended with {run.returncode}: {run.stderr[-300:]}")
    if int(spec["region"]) not in Profile.load(work / "capture").captures:
        raise UnsupportedError(f"the loop of {item.program} was not captured")
    Path(spec["folder"]).mkdir(exist_ok=True)
    binding.take_support(kit / SUPPORT)
    after = Path(spec["capture"]).with_name(f"after-{spec['region']}.npz")
    inspector = Inspector({**spec, "memory": 96 << 30, "after": str(after) if after.exists() else None})
    result = inspector.run()
    if inspector.source is None:
        raise UnsupportedError(str(result.get("failed") or result.get("reason")))
    return Loop(inspector.source, Capture.load(after) if after.exists() else None, entry["place"])
