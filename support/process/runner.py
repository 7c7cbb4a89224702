"""Runs child processes: every external program (the user's, a compiler, a partitioner's worker) runs through `run`.

A guardian process (`guardian.py`) starts the program, watches its limits and kills all of its processes when it
ends, when it exceeds a limit, or when tracecut itself dies for any reason.

Output goes directly into files whose sizes the guardian checks, and not through a pipe: the program never waits for a
reader, nothing is copied while it is measured, and the kernel guarantees order and completeness. The drawback is that
output may exceed its limit by what is written between two checks (2 to 100 ms); the file is cut to the limit
afterwards. A limit on file sizes (RLIMIT_FSIZE) would be exact, but would also limit the files that the program itself
writes.
"""

from __future__ import annotations

import errno
import math
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from tracecut.support.errors import ArgumentError, BackendError, OutputError, ProgramError, ToolchainError
from tracecut.support.memory_amounts import size
from tracecut.support.private_folders import private_folder

__all__ = ["Finished", "Guardian", "Limits", "describe", "private_folder", "run"]

GUARDIAN = Path(__file__).with_name("guardian.py")
# As a module, so that its byte code is kept; its folder is the last place that anything is looked for.
_IMPORTED = "import sys; sys.path.append(sys.argv.pop(1)); import guardian; guardian.main()"
TICK = 0.1  # seconds between two calls of `tick`
OVERDUE = 15.0  # seconds past the limit after which the guardian counts as stuck


@dataclass(frozen=True)
class Limits:
    """What a program may use. None is no limit."""

    seconds: float | None = None  # wall clock
    output_bytes: int = 64 << 20  # captured stdout, and as much stderr
    memory_bytes: int | None = None  # private writable memory of each process (RLIMIT_DATA)
    # alive at one time, against fork storms; counted from time to time, so it may be slightly exceeded
    processes: int = 1024
    isolate: bool = False  # ask for a pid namespace: `Finished.protection` says whether it was permitted

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ArgumentError(f"limits.seconds is {self.seconds}, a positive number of seconds was expected")
        for name in ("output_bytes", "memory_bytes", "processes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ArgumentError(f"limits.{name} is {value}, at least 1 was expected")


UNLIMITED = Limits()


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    returncode: int  # as of Popen: minus the signal number when a signal killed it
    seconds: float  # wall clock from the program's exec to its end
    # user + system, of the program (including 2 ms to start it) and all processes that were waited for
    cpu_seconds: float
    delayed_seconds: float  # of `seconds`: its first thread could run, others had the processors; 0 where unknown
    max_rss: int  # bytes, of the largest process; at least the guardian's own 10 MB, inherited through fork
    stdout: Path
    stderr: Path
    timed_out: bool
    output_capped: bool  # the files hold the first `limits.output_bytes` bytes
    process_capped: bool
    survivors: int  # processes that were still running when the program ended by itself, and were killed
    protection: str  # "subreaper", "pid namespace" or, on kernels without both, "parent-death signal"
    limits: Limits

    @property
    def undisturbed_seconds(self) -> float:
        """What a program of one thread takes where it need not wait for a processor."""
        return self.seconds - self.delayed_seconds

    @property
    def ok(self) -> bool:
        """The program ended by itself with status 0, and its output is complete."""
        return self.returncode == 0 and not (self.timed_out or self.output_capped or self.process_capped)


def run(
    command: Sequence[str | Path],
    *,
    stdin: Path | None = None,
    folder: Path,
    name: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    limits: Limits = UNLIMITED,
    pass_fds: Sequence[int] = (),
    tick: Callable[[float], None] | None = None,
    guardian: Guardian | None = None,
) -> Finished:
    """Run `command` (never through a shell) to its end.

    Output lands in `folder/name.stdout` and `folder/name.stderr`. The program runs as if started by hand: the caller's
    folder and environment unless `cwd` or `env` are given, default signals, stdin from the file or empty; but in a
    session of its own, without core dumps. `pass_fds` keep their numbers. `tick(elapsed seconds)` is called about ten
    times a second; if it raises, the program is stopped, as by any exception here (KeyboardInterrupt). A program that
    fails is a result, not an exception. `guardian`: a running guardian (which has its own `pass_fds`), None: a new one
    for this program.

    Raises ProgramError if the program cannot be started, ArgumentError for unusable arguments, OutputError if the
    output files cannot be made, BackendError if the guardian was killed or is stuck, ToolchainError if it cannot be
    started.
    """
    if Path(name).name != name:
        raise ArgumentError(f"name is {name!r}, a file name without folders was expected")
    guardian = guardian or Guardian(pass_fds, last=True)
    request = _encode(command, env, cwd, limits, more=not (guardian.last or limits.isolate))
    stdout, stderr = folder / f"{name}.stdout", folder / f"{name}.stderr"
    with ExitStack() as stack:
        source = stack.enter_context(_readable(stdin))
        sinks = [stack.enter_context(_writable(path)) for path in (stdout, stderr)]
        answer = guardian.ask(name, request, [source.fileno(), *(sink.fileno() for sink in sinks)], limits, tick)
    return _decode(answer, command, cwd, stdout, stderr, limits)


class Guardian:
    """A guardian for several programs, one after the other, since starting one takes as long as compiling a small file.

    It is started with the first program, restarted if it died, and ends with the context. Use it from one thread only:
    a guardian ends with the thread that started it.

    Args:
        pass_fds: descriptors that all programs inherit. last: it ends with its first program.
    """

    def __init__(self, pass_fds: Sequence[int] = (), *, last: bool = False) -> None:
        self._pass_fds = pass_fds
        self.last = last
        self._started: tuple[subprocess.Popen[bytes], socket.socket] | None = None

    def __enter__(self) -> Guardian:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(
        self,
        name: str,
        request: bytes,
        streams: Sequence[int],
        limits: Limits,
        tick: Callable[[float], None] | None,
    ) -> str:
        """Run a program. Returns the guardian's answer; empty or incomplete if it was killed. Errors as in `run`."""
        sent: Sequence[int] = streams
        if self._started is None:
            self._started, sent = self._start(name, streams), ()  # it inherits these
        answer = ""
        try:
            answer = _converse(self._started[1], request, sent, limits, tick)
        finally:
            if self.last or limits.isolate or not answer.endswith("\n"):
                self.close()
        return answer.rstrip("\n")

    def _start(self, name: str, streams: Sequence[int]) -> tuple[subprocess.Popen[bytes], socket.socket]:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                return _start_guardian(name, theirs, streams, self._pass_fds), ours
            except BaseException:
                ours.close()
                raise

    def close(self) -> None:
        """Kill what is still running, and wait for the guardian's end."""
        if self._started is not None:
            (process, control), self._started = self._started, None
            with control:
                _let_go(process, control)


def describe(finished: Finished) -> str:
    """One phrase to follow the program's name: "killed by SIGSEGV (segmentation fault)"."""
    limits, code = finished.limits, finished.returncode
    killed = code == -signal.SIGKILL
    if finished.timed_out:
        phrase = f"ran longer than {limits.seconds:g} s and was stopped"
    elif finished.process_capped:
        phrase = f"started more than {limits.processes} processes and was stopped"
    elif finished.output_capped:
        consequence = "and was stopped" if killed else f"(cut) and {describe_status(code)}"
        phrase = f"wrote more than {size(limits.output_bytes)} {consequence}"
    else:
        phrase = describe_status(code)
    if finished.survivors:
        noun = "process" if finished.survivors == 1 else "processes"
        phrase += f"; {finished.survivors} {noun} it left behind had to be killed"
    return phrase


def describe_status(code: int) -> str:
    """How a process ended: its exit status, or the signal that killed it (its negative number, as in Popen)."""
    if code >= 0:
        return f"left with status {code}"
    with suppress(ValueError):
        return f"killed by {signal.Signals(-code).name} ({(signal.strsignal(-code) or '').lower()})"
    return f"killed by signal {-code}"


def _encode(
    command: Sequence[str | Path], env: Mapping[str, str] | None, cwd: Path | None, limits: Limits, *, more: bool
) -> bytes:
    """The request that `guardian.Request` reads: numbers, folder, command and environment, NUL between them."""
    words = [os.fsencode(word) for word in command]
    if not words or not words[0]:
        raise ArgumentError("command is empty, the program to run was expected as its first word")
    environment = os.environb if env is None else {os.fsencode(key): os.fsencode(env[key]) for key in env}
    fields = [os.fsencode(cwd or ""), *words, *(b"%s=%s" % pair for pair in environment.items())]
    for field in fields:
        if b"\0" in field:
            raise ArgumentError(f"a word of the command, folder or environment holds a NUL byte: {field!r}")
    seconds = math.inf if limits.seconds is None else limits.seconds
    head = (
        f"{os.getpid()} {seconds!r} {limits.output_bytes} {limits.memory_bytes or 0} "
        f"{limits.processes} {int(limits.isolate)} {int(more)} {len(words)}"
    )
    body = b"\0".join([head.encode(), *fields])
    return len(body).to_bytes(8, "little") + body


def _readable(path: Path | None) -> BinaryIO:
    try:
        return open(path or os.devnull, "rb", buffering=0)
    except OSError as error:
        raise ArgumentError(f"stdin cannot be read from {path}: {error.strerror}") from error


def _writable(path: Path) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    try:
        return open(path, "wb", buffering=0, opener=lambda name, _: os.open(name, flags, 0o600))
    except OSError as error:
        raise OutputError(
            f"cannot write {path}: {error.strerror}",
            hint="A program's output is captured there; choose another folder.",
        ) from error


def _start_guardian(
    name: str, control: socket.socket, streams: Sequence[int], pass_fds: Sequence[int]
) -> subprocess.Popen[bytes]:
    # -I -S: a fast start without site or user code. The program's environment goes through the socket, so that
    # libraries
    # that it preloads are not loaded here.
    command = [sys.executable, "-I", "-S", "-c", _IMPORTED, str(GUARDIAN.parent), str(control.fileno()), name]
    stdin, stdout, stderr = streams
    try:
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(control.fileno(), *pass_fds),
            start_new_session=True,
        )
    except OSError as error:
        raise ToolchainError(
            f"cannot start {sys.executable or 'Python'}, which guards every external program: {error.strerror}",
            hint="Run tracecut with an ordinary Python interpreter.",
        ) from error


def _converse(
    control: socket.socket,
    request: bytes,
    streams: Sequence[int],
    limits: Limits,
    tick: Callable[[float], None] | None,
) -> str:
    """Send the request, wait for the guardian to finish, return its answer of one line, which is incomplete if it died.

    `streams`: descriptors to send, none to a guardian that has inherited them.
    """
    started = time.monotonic()
    overdue = math.inf if limits.seconds is None else limits.seconds + OVERDUE
    watched = tick is not None or limits.seconds is not None
    poller = select.poll()
    poller.register(control, select.POLLIN)
    answer = b""
    try:
        sent = socket.send_fds(control, [request], streams, socket.MSG_NOSIGNAL) if streams else 0
        control.sendall(request[sent:], socket.MSG_NOSIGNAL)
        while not answer.endswith(b"\n"):
            if poller.poll(TICK * 1000 if watched else None):
                piece = control.recv(4096)
                if not piece:
                    break
                answer += piece
            elapsed = time.monotonic() - started
            if tick is not None:
                tick(elapsed)
            if elapsed > overdue:
                raise BackendError(f"the guardian process is stuck: no answer {OVERDUE:g} s after the time limit")
    except ConnectionError:
        pass
    return answer.decode()


def _let_go(guardian: subprocess.Popen[bytes], control: socket.socket) -> None:
    """Make the guardian kill what is still running, and wait for its end."""
    with suppress(OSError):
        control.shutdown(socket.SHUT_WR)
        control.settimeout(OVERDUE)
        while control.recv(4096):
            pass
    guardian.kill()  # has already ended, unless it is stuck; the program dies with it
    guardian.wait()


def _decode(
    answer: str, command: Sequence[str | Path], cwd: Path | None, stdout: Path, stderr: Path, limits: Limits
) -> Finished:
    """Read the line that `guardian.guard` wrote."""
    kind, _, rest = answer.partition(" ")
    if kind == "failed":
        number, stage = rest.split()
        raise _launch_error(int(number), stage, str(command[0]), cwd)
    if kind != "ended":
        raise BackendError(
            f"the guardian of {command[0]} {'failed: ' + rest if rest else 'was killed'}",
            hint="The program was stopped with it. If memory ran out, give the program less to do.",
        )
    code, seconds, cpu, delayed, rss, *flags = rest.split(" ", 9)
    timed_out, output_capped, process_capped, survivors, protection = flags
    return Finished(
        returncode=int(code),
        seconds=float(seconds),
        cpu_seconds=float(cpu),
        delayed_seconds=float(delayed),
        max_rss=int(rss),
        stdout=stdout,
        stderr=stderr,
        timed_out=timed_out == "1",
        output_capped=output_capped == "1",
        process_capped=process_capped == "1",
        survivors=int(survivors),
        protection=protection,
        limits=limits,
    )


def _launch_error(number: int, stage: str, program: str, cwd: Path | None) -> ProgramError:
    reason = os.strerror(number)
    if stage == "folder":
        return ProgramError(f"cannot run {program} in the folder {cwd}: {reason}")
    if stage == "limits":
        return ProgramError(f"cannot limit {program}: {reason}", hint="Run it without a memory limit.")
    hints = {
        errno.ENOENT: "Check the path; if the file exists, the interpreter or loader that it names does not.",
        errno.EACCES: "It has to be a file with execute permission (chmod +x) on a file system that allows programs.",
        errno.ENOEXEC: "It is not a program for this machine; a script needs a first line such as #!/bin/sh.",
        errno.E2BIG: "Its arguments and environment are too long; pass data through a file.",
    }
    return ProgramError(f"cannot run {program}: {reason}", hint=hints.get(number, ""))
