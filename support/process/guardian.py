"""The process between tracecut and a foreign program, started by `runner.py` with a DESCRIPTOR and a NAME to show.

It sets the program up between fork and exec (never done in tracecut itself, which has threads), watches its
limits, and leaves nothing running: as a *child subreaper* it inherits every process that the program orphans, so
daemons stay its descendants, and "no child left" is exactly "nothing left". It stops the tree when the socket to
tracecut closes or when the kernel signals that tracecut died, whichever comes first.

A pid namespace would let the kernel do the killing, and is used on request. It is not the default: a program in
one sees a small `getpid()` that does not fit `/proc`, and without privileges also another user namespace, where
supplementary groups and set-uid helpers are lost. A traced program should behave as if it were started by hand.

Start-up is on the path of every run: nothing of tracecut is imported here, and only light standard modules. One
guardian can run several programs, one after the other.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import sys
import time

try:
    import _signal as signal  # type: ignore[import-not-found] # `signal` makes enumerations: a third of the start
except ImportError:
    import signal

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
FAST, SLOW = 0.002, 0.1  # seconds between two checks of the limits; the slow interval costs under 0.5 % of one core
GRACE = 0.2  # seconds that other processes get to end by themselves when the program has ended
PATIENCE = 5.0  # seconds to keep killing; a process in an uninterruptible sleep may survive longer

_libc = ctypes.CDLL(None, use_errno=True)


class suppress:  # as in `contextlib`, whose import is a tenth of the start
    def __init__(self, *kinds: type[BaseException]) -> None:
        self.kinds = kinds

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self.kinds)


class Request:
    """What tracecut asks for; `encode` in `runner.py` writes it."""

    def __init__(self, data: bytes) -> None:
        head, *words = data.split(b"\0")
        numbers = head.split()
        self.parent = int(numbers[0])
        self.seconds = float(numbers[1])  # inf: no limit
        self.output = int(numbers[2])
        self.memory = int(numbers[3])  # 0: no limit
        self.processes = int(numbers[4])
        self.isolate = numbers[5] == b"1"
        self.more = numbers[6] == b"1"  # another request follows
        count = int(numbers[7])
        self.folder = words[0]
        self.command = words[1 : 1 + count]
        pairs = (word.partition(b"=") for word in words[1 + count :])
        self.environment = {name: value for name, _, value in pairs}


class LaunchError(Exception):
    """The program could not be started: the errno, and what failed (`folder`, `limits` or `program`)."""


class Tree:
    """The program and everything that it started."""

    def __init__(self, program: int, namespace: bool) -> None:
        self.program = program
        self.namespace = namespace
        self.delayed = 0.0  # seconds in which its first thread could run, and others had the processors
        self.delays = -1  # the scheduler's file on it; in a namespace it has another number in /proc
        with suppress(OSError):
            self.delays = -1 if namespace else os.open(f"/proc/{program}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        self.status: int | None = None
        self.ended = 0.0
        self.cpu, self.rss, self.left_behind = 0.0, 0, 0

    def reap(self, killing: bool = False) -> bool:
        """Collect the processes that have ended; False when none is left at all."""
        while True:
            with suppress(OSError, ValueError, IndexError):  # known until it is collected
                self.delayed = int(os.pread(self.delays, 256, 0).split()[1]) / 1e9
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.cpu += usage.ru_utime + usage.ru_stime
            self.rss = max(self.rss, usage.ru_maxrss * 1024)
            if pid == self.program:
                self.status, self.ended = status, time.monotonic()
            elif killing and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                self.left_behind += 1

    def kill(self) -> None:
        """Kill until nothing is left; processes forked in between are killed in the next pass."""
        end = time.monotonic() + PATIENCE
        while self.reap(killing=True) and time.monotonic() < end:
            if self.namespace:
                with suppress(ProcessLookupError):
                    os.kill(-1, signal.SIGKILL)  # from the init of a namespace: all of it but the init
            else:
                self._kill_groups()
            time.sleep(FAST)

    def _kill_groups(self) -> None:
        """Kill by process group: the kernel then also catches what the group forks meanwhile, which a loop over
        pids can lose against. The program has a session of its own, so a group of its descendants has no others.
        """
        own = os.getpgrp()
        found = descendants()
        for group in {group for _, group in found} - {own}:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        for pid, group in found:
            if group == own:  # between fork and setsid
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)


class Census:
    """Notices a fork storm. Only when the whole machine has gained as many tasks as the tree may have processes is
    the tree really counted, since that reads all of /proc.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.base = self.tasks()

    def tasks(self) -> int:
        with suppress(OSError, ValueError, IndexError), open("/proc/loadavg") as file:
            return int(file.read().split()[3].partition("/")[2])
        return 0

    def exceeded(self) -> bool:
        tasks = self.tasks()
        if tasks - self.base <= self.limit:
            return False
        count = len(descendants())
        self.base = tasks - count
        return count > self.limit


def descendants() -> list[tuple[int, int]]:
    """(pid, process group) of every descendant, zombies included, in the numbering of the mounted /proc."""
    children: dict[int, list[tuple[int, int]]] = {}
    with suppress(OSError), os.scandir("/proc") as entries:
        for name in (entry.name for entry in entries if entry.name.isdigit()):
            with suppress(OSError):
                _, parent, group = process_state(name)
                children.setdefault(parent, []).append((int(name), group))
    found: list[tuple[int, int]] = []
    level = [process_state("self")[0]] if children else []
    while level:
        below = [child for pid in level for child in children.pop(pid, [])]
        found += below
        level = [pid for pid, _ in below]
    return found


def process_state(name: str) -> tuple[int, int, int]:
    """Pid, parent and process group of the process with this name in /proc."""
    with open(f"/proc/{name}/stat", "rb") as file:
        # The program's name is in parentheses and may hold anything, spaces and parentheses too.
        pid, rest = file.read().split(b" ", 1)
    _, parent, group = rest.rpartition(b")")[2].split()[:3]
    return int(pid), int(parent), int(group)


def prctl(option: int, value: int) -> bool:
    zero = ctypes.c_ulong(0)
    return bool(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero) == 0)


def die_with(parent: int, number: int) -> None:
    """Ask for a signal when `parent` dies; if it is dead already, leave at once."""
    prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def enter_namespace(control: int) -> bool:
    """Go on as the init of a new pid namespace, in a forked process; False when that is not permitted.

    The first process stays as a waiter. It dies with tracecut, the init dies with it, and the rest with the init.
    """
    if (probe := os.fork()) == 0:  # a half-made namespace cannot be undone
        os._exit(0 if unshare() else 1)
    if os.waitpid(probe, 0)[1] != 0 or not unshare():
        return False
    if init := os.fork():
        os.close(control)
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        os.waitpid(init, 0)
        os._exit(0)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a parent that is gone already is noticed by the socket
    return True


def unshare() -> bool:
    """Make the next fork open a pid namespace, with the same user and group ids inside as outside."""
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(CLONE_NEWPID) == 0:
        return True
    if _libc.unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0:
        return False
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    try:
        for name, text in maps.items():
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    except OSError:  # some systems allow the namespace, but no rights inside
        return False
    return True


def launch(request: Request) -> tuple[int, float]:
    """Start the program in a session of its own; its pid and when its exec began (monotonic seconds)."""
    readable, writable = os.pipe()  # both close on exec: end of file is success
    guardian = os.getpid()
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    program = os.fork()
    if program == 0:
        stage = "limits"
        try:
            os.setsid()
            die_with(guardian, signal.SIGKILL)
            set_limits(request)
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            stage = "folder"
            if request.folder:
                os.chdir(request.folder)
            stage = "program"
            os.write(writable, b"%d" % time.monotonic_ns())
            os.execvpe(request.command[0], request.command, request.environment)
        except OSError as error:
            os.write(writable, f" {error.errno} {stage}".encode())
        finally:
            os._exit(127)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.close(writable)
    with open(readable, "rb") as file:
        words = file.read().split()
    if len(words) > 1:
        os.waitpid(program, 0)
        raise LaunchError(int(words[-2]), words[-1].decode())
    return program, int(words[0]) / 1e9 if words else time.monotonic()


def set_limits(request: Request) -> None:
    # One byte, not zero: too small for any core file, and the value that also silences a core_pattern pipe.
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (1 if hard else 0, hard))
    if request.memory:
        # Data, not address space: CUDA, sanitizers and managed run times reserve far more addresses than they use.
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        limit = request.memory if hard == resource.RLIM_INFINITY else min(request.memory, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def wake_on_signals() -> int:
    """A descriptor that becomes readable when a child ends or when someone asks this process to stop."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *STOPS):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return readable


def supervise(request: Request, control: int, wake: int, tree: Tree, started: float) -> str:
    """Wait for the program to end, or a reason to end it: `time`, `output`, `processes` or `abandoned`."""
    poller = select.poll()
    poller.register(control, select.POLLIN)
    poller.register(wake, select.POLLIN)
    census = Census(request.processes)
    reason, written, pause = "", 0, FAST
    end = started + request.seconds
    while not reason:
        tree.reap()
        now = time.monotonic()
        if tree.status is not None:
            break
        before, written = written, output_size()
        pause = FAST if written - before > request.output // 16 else min(2 * pause, SLOW)
        if now >= end:
            reason = "time"
        elif written > request.output:
            reason = "output"
        elif census.exceeded():
            reason = "processes"
        else:
            reason = wait(poller, control, wake, min(pause, end - now))
    stragglers = time.monotonic() + GRACE
    while not reason and tree.reap() and time.monotonic() < stragglers:
        reason = wait(poller, control, wake, FAST)
    tree.kill()
    return reason


def wait(poller: select.poll, control: int, wake: int, seconds: float) -> str:
    """Sleep until an event; `abandoned` if tracecut has died or asks to stop."""
    for descriptor, _ in poller.poll(max(0, seconds) * 1000):
        if descriptor == control:  # tracecut sends nothing after the request, so this is end of file
            return "abandoned"
        if any(number in STOPS for number in os.read(wake, 4096)):
            return "abandoned"
    return ""


def output_size() -> int:
    """Size of the larger of the two output files, which are this process's own stdout and stderr."""
    return max(os.fstat(1).st_size, os.fstat(2).st_size)


def guard(request: Request, control: int, wake: int) -> str:
    """Run the program; returns the answer for tracecut, one line."""
    namespace, protection = request.isolate and enter_namespace(control), "pid namespace"
    if not namespace:
        die_with(request.parent, signal.SIGTERM)
        protection = "subreaper" if prctl(PR_SET_CHILD_SUBREAPER, 1) else "parent-death signal"
    try:
        program, started = launch(request)
    except LaunchError as error:
        return "failed {} {}".format(*error.args)
    tree = Tree(program, namespace)
    reason = supervise(request, control, wake, tree, started)
    with suppress(OSError):
        os.close(tree.delays)
    capped = output_size() > request.output
    for descriptor in 1, 2:
        if os.fstat(descriptor).st_size > request.output:
            os.ftruncate(descriptor, request.output)
    left = 0 if reason else tree.left_behind
    code = -signal.SIGKILL if tree.status is None else os.waitstatus_to_exitcode(tree.status)
    seconds = (tree.ended or time.monotonic()) - started
    flags = f"{int(reason == 'time')} {int(capped)} {int(reason == 'processes')}"
    return f"ended {code} {seconds!r} {tree.cpu!r} {tree.delayed!r} {tree.rss} {flags} {left} {protection}"


def read_request(control: int, data: bytes = b"") -> Request:
    """The request is its length in bytes, as 8 little-endian bytes, and then the bytes. `data`: its begin."""
    while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "little"):
        piece = os.read(control, 1 << 20)
        if not piece:
            os._exit(1)  # tracecut asks for no more, or was interrupted before it could ask
        data += piece
    return Request(data[8:])


def next_request(control: int) -> Request:
    """Receive another request, with the standard streams of its program."""
    import socket  # imported here because it is as slow as all imports above, and a single program does not need it

    with socket.socket(fileno=os.dup(control)) as channel:
        head, streams, _, _ = socket.recv_fds(channel, 8, 3)
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    return read_request(control, head)


def main() -> None:
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    request = read_request(control)
    wake = wake_on_signals()
    while True:
        try:
            answer = guard(request, control, wake)
        except Exception as error:
            answer = f"broken {error!r}"
        with suppress(OSError):  # tracecut may have died
            os.write(control, f"{answer}\n".encode())
        if not request.more:
            os._exit(0)  # skips the interpreter's own clean-up, some milliseconds
        request = next_request(control)


if __name__ == "__main__":
    main()
