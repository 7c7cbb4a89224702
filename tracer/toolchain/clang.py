"""Front ends: C and C++ sources and LLVM IR files → textual IR and objects."""

from __future__ import annotations

import os
import re
from importlib import resources
from pathlib import Path

from tracecut.support.compiler_messages import first_lines
from tracecut.support.errors import BackendError, SourceError, UsageError
from tracecut.support.process.runner import Finished, Guardian, Limits, describe, run

from .find_compilers import VARIABLE, compiler, cxx_headers, driver, environment
from .flags import OPENMP_NOTE, Flags, parse_flags
from .llvm_faults import for_clang

__all__ = ["OPENMP_NOTE", "Flags", "optimised_object", "parse_flags", "to_ir", "to_object"]

# The canonical form that regions are read from: optimised, scalar, loops whole. Which processor, whether products
# and sums may be fused, what sets errno: all of that stays the user's, so that results are.
#   load-pre off: else `rp[i + 1]` of a CSR row becomes a loop-carried phi and no job can be cut out.
#   jump threading off: else a loop that sets a flag last becomes two nested ones, the flag not yet set and set.
#   licm-promotion off: else a sum in memory under a condition is kept in a register and stored all the same, which no
#     other order may do. The emitted code is optimised again, with it.
#   replexitval always: else where a loop begins is not known, if another one counted up to there.
#   keep-loops on: else a loop that stands first in another one has the same header, and the two are one.
CANONICAL = tuple(
    "-O2 -gline-tables-only -fPIC -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -mllvm "
    "-enable-load-pre=false -mllvm -jump-threading-threshold=0 -mllvm -disable-licm-promotion -mllvm "
    "-keep-loops=true -mllvm -replexitval=always".split()
)
# The form that the seed traced (VertexCut §3.1): every variable in memory, but open to later passes.
SEED = ("-O0", "-gline-tables-only", "-fPIC", "-Xclang", "-disable-O0-optnone")
# What gcc, before its release 14, only warned of: programs of then are still compiled. -Werror=… of the user wins.
_OLD = (
    "implicit-function-declaration implicit-int int-conversion incompatible-pointer-types "
    "incompatible-function-pointer-types return-type return-mismatch"
)
WITHOUT_OPENMP = "-DTRACECUT_OMP_ELSEWHERE"  # as of `omp.h`
OLD_C = tuple(f"-Wno-error={name}" for name in _OLD.split())
# An unoptimised build calls these; no optimisation may put something else in their place.
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 fdim fmod hypot ldexp lgamma "
    "log log10 log1p log2 logb nextafter pow remainder scalbn sin sinh tan tanh tgamma"
).split()
AS_WRITTEN = (
    *(f"-fno-builtin-{name}{suffix}" for name in _MATH for suffix in ("", "f")),
    "-mllvm",
    "-disable-fp-call-folding",
)
# Options of the user that the canonical form is made without. `#pragma omp simd` would make vectors of the loops.
_NOT_CANONICAL = re.compile(r"-O|-g|-f(no-)?unroll|-fopenmp-simd")
SECONDS = 600.0  # that one compiler may take


def to_ir(
    source: Path, flags: Flags, folder: Path, *, canonical: bool, opt: str = "O1", guardian: Guardian | None = None
) -> str:
    """Textual IR of one source file.

    C and C++ are compiled with the user's flags, then either those of the form that is analysed (they win) or as the
    user would have done by hand. `opt` chooses the former: `O1`, the canonical form, or `seed`, unoptimised as in
    VertexCut §3.1. IR files are read as they are. `guardian`: see `run`; one for all files saves a third of the time of
    small ones. Raises SourceError with the compiler's own diagnostic.
    """
    return ir_and_words(source, flags, folder, canonical=canonical, opt=opt, guardian=guardian)[0]


def ir_and_words(
    source: Path, flags: Flags, folder: Path, *, canonical: bool, opt: str = "O1", guardian: Guardian | None = None
) -> tuple[str, str]:
    """The same, and what the compiler has to say."""
    if opt not in ("O1", "seed"):
        raise UsageError(f"--opt {opt}: O1 or seed expected")
    _expect_file(source)
    if flags.language(source) == "ir":
        from .read_ir import read_ir

        return read_ir(source), ""
    target = folder / f"{source.stem}-{'canonical' if canonical else 'native'}.ll"
    form = ["-S", "-emit-llvm", *_form(flags, opt, canonical=canonical)]
    said = _compile(source, flags, folder, form, target, canonical, guardian)
    text = target.read_text(errors="surrogateescape")
    # The loops are to stay whole until they have been looked at; in the emitted code they are unrolled as ever.
    return (text.replace('!{!"llvm.loop.unroll.disable"}', '!{!"tracecut.whole"}') if canonical else text), said


def to_object(source: Path, flags: Flags, folder: Path) -> tuple[bytes, str]:
    """Machine code of one source file, as the user's compiler line makes it, and what that compiler has to say.

    Nothing of ours has a part in it.
    """
    _expect_file(source)
    if flags.language(source) == "ir":
        from .passes import emit_object

        text = to_ir(source, flags, folder, canonical=False)
        return emit_object(text.encode(errors="surrogateescape").decode(errors="replace"), optimise=False), ""
    target = folder / f"{source.stem}-native.o"
    said = _compile(source, flags, folder, ["-c", *_form(flags, "O1", canonical=False)], target, canonical=False)
    return target.read_bytes(), said


def optimised_object(text: str, flags: Flags, folder: Path, name: str) -> bytes:
    """Machine code of a canonical module that may have been changed, optimised as the user's line says.

    The same compiler as of the user's own build, and the same level: what can be computed beforehand is so in both.
    """
    source, target = folder / f"{name}.ll", folder / f"{name}.o"
    source.write_text(text)
    exact = ["-mllvm", "-disable-fp-call-folding"] if flags.as_written else []
    level = "-O2" if flags.optimisation == "-O0" else flags.optimisation
    own = [level, *exact, *for_clang(), "-fPIC", "-w"]
    command = [*compiler().command, *own, "-x", "ir", "-c", str(source), "-o", str(target)]
    finished = _run(command, target)
    if finished.returncode != 0 or not target.exists():
        raise BackendError(f"no machine code can be made of {name}", detail=_why(finished))
    return target.read_bytes()


def _run(command: list[str], target: Path, guardian: Guardian | None = None) -> Finished:
    limits, name = Limits(seconds=SECONDS, memory_bytes=memory_limit()), f"{target.name}-compiler"
    return run(command, folder=target.parent, name=name, env=environment(), limits=limits, guardian=guardian)


def _expect_file(source: Path) -> None:
    if not source.is_file():
        raise SourceError(f"{source}: no such file" if not source.exists() else f"{source}: not a file")


def _form(flags: Flags, opt: str, *, canonical: bool) -> list[str]:
    """Options of the wanted form, to stand behind the user's."""
    if not canonical:
        # Without any -O the program is optimised all the same, but computes what the unoptimised one would.
        exact = AS_WRITTEN if flags.as_written and flags.optimisation != "-O0" else ()
        return [flags.optimisation, *exact, *for_clang(), "-gline-tables-only"]
    if opt == "seed":
        return list(SEED)
    own = [*CANONICAL, *for_clang()]  # loops that a pragma asks for become vectors in this form, too
    if flags.optimisation == "-Ofast":
        own.append("-ffast-math")
    if flags.as_written:
        own += AS_WRITTEN
    return own


def _compile(
    source: Path,
    flags: Flags,
    folder: Path,
    own: list[str],
    target: Path,
    canonical: bool,
    guardian: Guardian | None = None,
) -> str:
    """Run the compiler on one file; what it said. Raises SourceError when it makes nothing."""
    user = [flag for flag in flags.compile if not (canonical and _NOT_CANONICAL.match(flag))]
    cxx = flags.language(source) == "c++"
    clang = compiler(cxx=cxx)
    # Options of the linker are no error under the user's -Werror.
    own.append("-Wno-unused-command-line-argument")
    if cxx and clang.is_zig:
        own += cxx_headers()
    own += ["-idirafter", str(_openmp_headers(folder))]
    if flags.openmp or "-fopenmp-simd" in flags.compile:
        own += ["-Wno-unknown-pragmas", "-Wno-source-uses-openmp"]
    if not flags.openmp:
        own.append(WITHOUT_OPENMP)
    first = [] if cxx else OLD_C
    command = [*clang.command, *first, *user, *own, *flags.spelled(source), "-o", str(target), _as_file(source)]
    finished = _run(command, target, guardian)
    if finished.returncode != 0 or not target.exists():
        raise SourceError(f"{source} does not compile", detail=_why(finished))
    return finished.stderr.read_text(errors="replace")


def preprocessor(source: str, flags: Flags) -> list[str]:
    """A command that prints a source behind the preprocessor, the way that `to_ir` compiles it."""
    cxx = flags.language(source) == "c++"
    own = ["-E", "-w", "-Wno-unused-command-line-argument"]
    if cxx and not os.environ.get(VARIABLE):
        own += cxx_headers()
    own += ["-idirafter", str(Path(__file__).parent), *([] if flags.openmp else [WITHOUT_OPENMP])]
    user = [flag for flag in flags.compile if flag != "-Werror"]
    return [*driver(cxx=cxx), *user, *own, *flags.spelled(source), _as_file(Path(source))]


def memory_limit() -> int:
    """Bytes of memory that one compiler may take: half of the machine's, 2 to 8 GB."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(2 << 30, min(8 << 30, total // 2))


def _why(finished: Finished) -> str:
    """What a compiler that failed has to say for itself."""
    said = finished.stderr.read_text(errors="replace")
    limit = f"{memory_limit() / 2**30:.1f} GB"
    if finished.timed_out:
        return f"The compiler {describe(finished)}."
    if re.search(r"out of memory|bad_alloc|[Cc]annot allocate memory", said):
        return f"The compiler needs more than the {limit} of memory that it may take."
    return first_lines(said) or f"The compiler said nothing, and left with status {finished.returncode}."


def _as_file(source: Path) -> str:
    """A file name that no driver takes for an option, or for a file of options."""
    return f"./{source}" if str(source).startswith(("-", "@")) else str(source)


def _openmp_headers(folder: Path) -> Path:
    """A folder with an `omp.h` whose functions answer as in a program of one thread, or are declared alone."""
    place = folder / "serial"
    place.mkdir(exist_ok=True)
    (place / "omp.h").write_bytes(resources.files(__package__).joinpath("omp.h").read_bytes())
    return place
