"""Damaged LLVM IR, by the thousand: does the process that uses what the reader let through ever die?

`python -P tests/tracer/toolchain/mutants.py COUNT [SEED]` makes COUNT mutants of `.ll` and `.bc` files. Each is read by
`tracecut.tracer.toolchain.read_ir.read` in a forked child, as `read_ir` does it in a child of its own; what that
accepts is then linked, optimised and compiled in this very process, which stands for the user's. It prints how the
readers ended, as one line of JSON, and leaves with status 0: with any other end a mutant has killed the host.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
import sys
from collections import Counter
from pathlib import Path

from llvmlite import binding
from tracecut.tracer.toolchain.passes import canonical, emit_object
from tracecut.tracer.toolchain.read_ir import read

SECONDS = 30
MEMORY = 8 << 30
HERE = Path(__file__).parent
WORDS = re.compile(rb"%[-\w.]+|@[-\w.]+|-?\d+|\b[a-z]\w*\b|!\d+|#\d+")


def originals() -> list[bytes]:
    """Texts of modules that are whole."""
    paths = (HERE.parent / "programs" / "nasty.ll", HERE.parent / "programs" / "throws.ll")
    return [path.read_bytes() for path in paths]


def damaged_text(text: bytes, choose: random.Random) -> bytes:
    """A module with one to three words or lines changed, lost, doubled, swapped or flipped."""
    for _ in range(choose.choice((1, 1, 1, 2, 3))):
        lines = text.split(b"\n")
        place, other = choose.randrange(len(lines)), choose.randrange(len(lines))
        words = list(WORDS.finditer(text))
        kind = choose.randrange(7)
        if kind == 0:
            del lines[place]
        elif kind == 1:
            lines.insert(other, lines[place])
        elif kind == 2:
            lines[place], lines[other] = lines[other], lines[place]
        elif kind == 3:
            at = choose.randrange(len(text))
            text = text[:at] + bytes([text[at] ^ 1 << choose.randrange(8)]) + text[at + 1 :]
            continue
        elif kind == 4:
            return text[: choose.randrange(len(text))]
        else:
            one, two = choose.choice(words), choose.choice(words)
            new = two.group() if kind == 5 else str(choose.choice((0, 1, -1, 2**31, 2**32, 2**63, 10**30))).encode()
            text = text[: one.start()] + new + text[one.end() :]
            continue
        text = b"\n".join(lines)
    return text


def damaged_bits(data: bytes, choose: random.Random) -> bytes:
    """A bitcode file with bits flipped, bytes overwritten, a piece lost, doubled or cleared, or its end cut off."""
    out = bytearray(data)
    for _ in range(choose.choice((1, 1, 1, 2, 8))):
        at, size = choose.randrange(len(out)), choose.randint(1, 32)
        kind = choose.randrange(6)
        if kind == 0:
            out[at] ^= 1 << choose.randrange(8)
        elif kind == 1:
            out[at] = choose.randrange(256)
        elif kind == 2:
            del out[at : at + size]
        elif kind == 3:
            out[at:at] = out[at : at + size]
        elif kind == 4:
            out[at : at + size] = bytes(len(out[at : at + size]))
        else:
            del out[max(4, at) :]
        if not out:
            return b""
    return bytes(out)


def accepted(data: bytes, suffix: str) -> str | int | None:
    """What a forked reader makes of a file: the text, None when it refuses, the signal that killed it."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.close(ours)
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.alarm(SECONDS)
            text = read(data, suffix).encode(errors="surrogateescape")
            with open(theirs, "wb") as pipe:
                pipe.write(text)
            code = 0
        except BaseException:
            code = 1
        finally:
            os._exit(code)
    os.close(theirs)
    with open(ours, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    return text.decode(errors="surrogateescape") if os.WEXITSTATUS(status) == 0 else None


def main() -> None:
    count = int(sys.argv[1])
    choose = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    texts = originals()
    bits = [binding.parse_assembly(text.decode()).as_bitcode() for text in texts]
    for text in texts:  # what is whole has to be read, else the mutants would prove nothing
        assert isinstance(accepted(text, ".ll"), str)
    ends: Counter[str] = Counter()
    for number in range(count):
        if number % 2:
            found = accepted(damaged_bits(choose.choice(bits), choose), ".bc")
        else:
            found = accepted(damaged_text(choose.choice(texts), choose), ".ll")
        kind = "ll bc".split()[number % 2]
        if isinstance(found, int):
            ends[f"{kind} killed by {signal.Signals(found).name}"] += 1
        elif found is None:
            ends[f"{kind} refused"] += 1
        else:
            ends[f"{kind} read"] += 1
            emit_object(found, optimise=False)
            emit_object(str(canonical([found])), optimise=True)
    print(json.dumps(ends, sort_keys=True))


if __name__ == "__main__":
    main()
