"""`tracecut.emit`: a GPU kernel of a loop of a program that was optimized."""

from __future__ import annotations

from dataclasses import replace

from tracecut.codegen.kernels.kernel import Kernel
from tracecut.pipeline.output.result import Optimized
from tracecut.support.errors import ArgumentError, known_names

VARIANTS = ("auto", "original", "swap-indirect", "swap", "smem", "readonly")


def emit(
    optimized: Optimized,
    region: str | None = None,
    target: str = "sm_90",
    variant: str = "auto",
    block: int | None = None,
    method: str = "auto",
    *,
    jobs: int | None = None,
    shared: int = 48 << 10,
    gpu: str = "h200",
    reduce: str = "fast",
) -> Kernel:
    """Make a GPU kernel of a loop, with the arrays that it had when the program ran: no card is needed.

    The program is compiled and run once more, instrumented, in child processes. Whether the loop paid on this machine
    does not matter: GPUs have orders and blocks of their own.

    Args:
        optimized: of `tracecut.optimize`; what was refused there may have a kernel all the same.
        region: id of a region of `optimized` (`"mesh-120"`) or `"FILE:LINE"`; None: the hottest loop that has a kernel.
        target: GPU architecture, such as `"sm_90"`.
        variant: `original`, `swap-indirect`, `swap`, `smem`, `readonly`, or `auto`: the one with the least time by the
            memory model, the program's own order unless another saves two per cent. Where this machine has a card that
            runs `target`, the few that the model takes for fast are timed there, once for each input, card and driver.
        block: threads of a block, 16 to 1024; None: by the model if `variant` is `auto`, else 256.
        method: order of jobs and data, a name of `tracecut.methods()`; `auto`: whose blocks touch the fewest data.
        jobs: most jobs of a block that keeps data in shared memory; None: likewise, else 1024.
        shared: bytes of shared memory that such a block may take. gpu: whose memory `auto` has in mind.
        reduce: `"fast"`, or `"ordered"`: sums have the same bits in every run, those of the program where an iteration
            adds once to a sum. A second kernel (`.combine`) adds up what the first left, without atomic operations.

    Returns a Kernel: `.ptx`, `.cubin`, `.ir`, `.cuda`, `.launch`, `.arrays`, `.schedule`, `.run_cpu()`, `.run_gpu()`,
    and called with arrays;
    `.considered` has what `auto` looked at, predicted and measured.

    Raises ArgumentError for bad arguments, UnsupportedError with the reason when the loop cannot become a kernel, and
    the errors of `optimize` for programs that do not compile or run any more.
    """
    from tracecut.codegen.ptx.ptxas import check_architecture, check_shared
    from tracecut.codegen.schedule.reduce_modes import FAST, ORDERED
    from tracecut.ir.gpu.description import gpu as described
    from tracecut.partition import METHODS
    from tracecut.pipeline.supervise import emit_kernel
    from tracecut.support.argument_checks import one_of, whole_number
    from tracecut.support.progress import Progress

    if not isinstance(optimized, Optimized):
        raise ArgumentError(f"optimized is a {type(optimized).__name__}, what tracecut.optimize returns was expected")
    if optimized.settings is None:
        raise ArgumentError("optimized does not know its program", hint="Take what tracecut.optimize returned.")
    if variant not in VARIANTS:
        raise ArgumentError(
            f"variant is {variant!r}, one of {', '.join(VARIANTS)} was expected", hint=known_names(variant, VARIANTS)
        )
    if method != "auto" and method not in METHODS:
        raise ArgumentError(f"method is {method!r}, 'auto' or a name of tracecut.methods() was expected")
    for name, value, low, high in (
        ("block", block, 16, 1024),
        ("jobs", jobs, 1, 1 << 31),
    ):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high):
            raise ArgumentError(f"{name} is {value!r}, a whole number from {low} to {high} was expected")
    one_of("reduce", reduce, (FAST, ORDERED))
    check_architecture(target, "target")
    check_shared(whole_number("shared", shared, 0), target)
    described(gpu)
    settings = replace(optimized.settings, region=_place(optimized, region), machine=None, regular=True, first_entry=1)
    if region is not None:  # that a new order would not pay on the host is no reason here
        settings = replace(settings, min_jobs=1)
    asked = {"variant": variant, "arch": target, "threads": block, "jobs": jobs, "shared": shared}
    asked["reduce"] = reduce
    return emit_kernel(settings, {**asked, "method": method, "gpu": gpu}, Progress(quiet=True))


def _place(optimized: Optimized, region: str | None) -> str | None:
    """FILE:LINE of a region."""
    if region is not None and not isinstance(region, str):
        raise ArgumentError(f"region is {region!r}, the id of a region or FILE:LINE was expected")
    if region is None or ":" in region:
        return region
    for item in optimized.manifest["regions"]:
        if item["id"] == region:
            return f"{item['file']}:{item['line']}"
    known = [str(item["id"]) for item in optimized.manifest["regions"]]
    raise ArgumentError(
        f"region is {region!r}, one of {', '.join(known) or 'none'} or FILE:LINE was expected",
        hint=known_names(region, known),
    )
