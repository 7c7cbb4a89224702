"""What a tracer easily misses in control flow: callbacks, jumps, threads, signals, forks; each in a small program."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracecut.ir.llvm.passes.function_aliases import resolve_aliases
from tracecut.support.errors import UnsupportedError
from tracecut.tracer.trace.events.event_words import End, Kind, Mark
from tracecut.tracer.trace.tables.static_tables import static_of

from .recorded import HEAD, module_text, native, recorded

FORMS = pytest.mark.parametrize("opt", ["O1", "seed"])


def test_recursion_and_indirect_calls(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    NOINLINE static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    NOINLINE static int twice(int n) { return 2 * n; }
    int (*table[2])(int) = {fib, twice};
    int main(void) {
      int total = 0;
      for (int i = 0; i < 10; i++) total += table[i % 2](i);
      printf("%d\\n", total);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt="seed")
    assert ran.stdout == "83\n"
    entries = [1, 1, 3, 5, 9, 15, 25, 41, 67]
    assert ran.main.calls("fib") == sum(entries[i] for i in range(0, 10, 2))
    assert ran.main.calls("twice") == 5 and ran.main.depth == 1 + 8


@FORMS
def test_callbacks_of_the_library(tmp_path: Path, opt: str) -> None:
    source = (
        HEAD
        + """
    int values[9] = {5, 3, 8, 1, 9, 2, 7, 4, 6}, calls;
    static int compare(const void *a, const void *b) { calls++; return *(const int *)a - *(const int *)b; }
    static void last(void) { printf("last %d\\n", calls > 0); }
    int main(void) {
      atexit(last);
      qsort(values, (size_t)(seven + 2), sizeof *values, compare);
      printf("%d %d\\n", values[0], values[8]);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt=opt)
    assert ran.stdout == "1 9\nlast 1\n"
    assert ran.main.calls("compare") >= 8 and ran.main.calls("last") == 1
    assert 36 in [values[-1] for values in ran.main.of(Kind.RANGE)]


@FORMS
def test_longjmp_finds_its_frame(tmp_path: Path, opt: str) -> None:
    source = (
        HEAD
        + """
    static jmp_buf place;
    NOINLINE static int deep(int n) { if (n == 0) longjmp(place, 1); return deep(n - 1) + 1; }
    NOINLINE static int once(int n) { return setjmp(place) ? n : deep(n); }
    int main(void) {
      int total = 0;
      for (int i = 0; i < 300; i++) total += once(i % 6);
      printf("%d\\n", total);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt=opt)
    assert ran.stdout == f"{sum(i % 6 for i in range(300))}\n"
    assert ran.main.calls("once") == 300 and ran.main.depth <= 9


def test_unknown_functions_are_reported_once_each(tmp_path: Path) -> None:
    source = (
        "#define _XOPEN_SOURCE 700\n"
        + HEAD
        + """
    char text[] = "badcfehg", other[9];
    int main(void) {
      swab(text, other, 4);
      swab(text + 4, other + 4, 4);
      printf("%s\\n", other);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path)
    assert ran.stdout == "abcdefgh\n"
    assert [name for _, name in ran.static.unknown] == ["swab", "swab"]
    text, other, *rest = [values[0] for values in ran.main.of(Kind.OPAQUE)]
    assert rest == [text + 4, other + 4]


@FORMS
def test_one_stream_a_thread(tmp_path: Path, opt: str) -> None:
    source = (
        HEAD
        + """
    long results[4];
    static void *work(void *place) {
      long total = 0;
      for (long i = 0; i < 2000; i++) { total += i * (place == NULL); results[((long *)place - results)] = total + i; }
      return place;
    }
    int main(void) {
      pthread_t threads[4];
      for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, work, &results[i]);
      for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
      printf("%ld\\n", results[0] + results[3]);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt=opt, flags=("-pthread",))
    assert ran.stdout == "3998\n"
    assert len(ran.streams) == 5 and ran.recorded.threads == 5
    numbers = sorted(stream.marks[0][1] for stream in ran.streams.values())
    assert all(stream.marks[0][0] is Mark.THREAD for stream in ran.streams.values())
    assert numbers == [(number, 0) for number in range(5)]
    works = [stream for stream in ran.streams.values() if stream.calls("work")]
    assert len(works) == 4 and len({stream.instructions for stream in works}) == 1
    assert all(stream.marks[-1] == (Mark.END, (End.EXIT, 0)) for stream in ran.streams.values())
    assert sum(stream.instructions for stream in ran.streams.values()) == ran.recorded.totals.instructions


def test_more_threads_than_buffers(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    pthread_barrier_t all;
    static void *work(void *place) { pthread_barrier_wait(&all); return place; }
    int main(void) {
      pthread_t threads[40];
      pthread_barrier_init(&all, NULL, 40);
      for (int i = 0; i < 40; i++) pthread_create(&threads[i], NULL, work, NULL);
      for (int i = 0; i < 40; i++) pthread_join(threads[i], NULL);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, flags=("-pthread",), memory=1)
    assert len(ran.streams) == 41
    assert sum(stream.calls("work") for stream in ran.streams.values()) == 40


def test_handlers_have_streams_of_their_own(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    #include <sys/time.h>
    #define STEP x = (x * 6364136223846793005ul + 1) / (x % 97 + 3) + x;
    volatile int ticks, raised;
    unsigned long sink;
    static void tick(int number) { for (int i = 0; i < 10; i++) ticks += number == SIGALRM; }
    static void inner(int number, siginfo_t *info, void *context) { raised += number == info->si_signo; }
    static void outer(int number) { raised += number == SIGUSR1; raise(SIGUSR2); }
    int main(void) {
      struct sigaction action = {0}, old;
      struct itimerval fast = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
      signal(SIGALRM, tick);
      signal(SIGUSR1, outer);
      action.sa_sigaction = inner;
      action.sa_flags = SA_SIGINFO;
      sigaction(SIGUSR2, &action, NULL);
      sigaction(SIGUSR2, NULL, &old);
      raise(SIGUSR1);
      setitimer(ITIMER_REAL, &fast, NULL);
      while (ticks < 50) {  /* long steps, so that the stream stays short */
        unsigned long x = (unsigned long)seven + sink;
        STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
        sink = x;
      }
      setitimer(ITIMER_REAL, &off, NULL);
      printf("%d %d %d\\n", raised, old.sa_sigaction == inner, signal(SIGUSR1, SIG_DFL) == outer);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt="O1")
    assert ran.stdout == "2 1 1\n"
    by_level = {stream.marks[0][1]: stream for stream in ran.streams.values()}
    assert set(by_level) == {(0, 0), (0, 1), (0, 2)}
    assert by_level[0, 0].calls("tick") == by_level[0, 0].calls("outer") == 0
    assert by_level[0, 1].calls("tick") >= 5 and by_level[0, 1].calls("outer") == 1
    assert by_level[0, 2].calls("inner") == 1


@FORMS
def test_a_handler_that_does_not_return(tmp_path: Path, opt: str) -> None:
    source = (
        HEAD
        + """
    static sigjmp_buf place;
    static void caught(int number) { siglongjmp(place, number); }
    NOINLINE static int poke(int *where) { int sum = 0; for (int i = 0; i < 5; i++) sum += where[i]; return sum; }
    int main(void) {
      int good[5] = {1, 2, 3, 4, 5}, *volatile nothing = NULL;
      volatile int total = 0;
      signal(SIGSEGV, caught);
      for (int i = 0; i < 100; i++) {
        if (sigsetjmp(place, 1) == 0) total += poke(i % 2 ? good : nothing);
        else total += 1000;
      }
      printf("%d\\n", total);
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt=opt)
    assert ran.stdout == f"{50 * 15 + 50 * 1000}\n"
    if opt == "seed":  # else it is inlined
        assert ran.main.calls("poke") == 100
    assert sum(stream.calls("caught") for stream in ran.streams.values()) == 50


def test_forked_processes_are_left_out(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    NOINLINE static int busy(int n) { int sum = 0; for (int i = 0; i < 100000; i++) sum += seven; return sum + n; }
    int main(void) {
      pid_t child = fork();
      if (child == 0) { int sum = busy(0); _exit(sum == 700000 ? 9 : 1); }
      int status = 0;
      waitpid(child, &status, 0);
      if (vfork() == 0) _exit(0);
      printf("%d %d\\n", WEXITSTATUS(status), busy(1));
      return 0;
    }
    """
    )
    ran = recorded(source, tmp_path, opt="O1")
    assert ran.stdout == "9 700001\n"
    assert ran.main.calls("busy") == 1 and ran.recorded.forks == 2


def test_a_call_that_must_be_a_tail_call_is_refused(tmp_path: Path) -> None:
    source = """
define i32 @other(i32 %n) {
  ret i32 %n
}
define i32 @main(i32 %n) {
  %r = musttail call i32 @other(i32 %n)
  ret i32 %r
}
"""
    with pytest.raises(UnsupportedError, match="musttail"):
        static_of(source)


def test_chosen_functions_alone_are_recorded(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    NOINLINE static int leaf(int n) { return n * seven; }
    NOINLINE static int middle(int n) { return leaf(n) + leaf(n + 1); }
    int main(void) { printf("%d\\n", middle(1) + middle(2)); return 0; }
    """
    )
    ran = recorded(source, tmp_path, functions=("leaf", "main"))
    assert ran.stdout == "56\n" and ran.static.functions == ("@main", "@leaf")
    assert ran.main.calls("leaf") == 4 and ran.main.calls("main") == 1
    assert module_text(source, tmp_path) == ran.static.text
    assert native(source, tmp_path) == ("56\n", 0)


def test_functions_of_assembly_alone_are_left_as_they_are(tmp_path: Path) -> None:
    source = (
        HEAD
        + """
    __attribute__((naked)) long twice(long x) { __asm__("lea (%rdi,%rdi), %rax\\n ret"); }
    NOINLINE static long more(long x) { long y; __asm__("lea 3(%1), %0" : "=r"(y) : "r"(x)); return y; }
    int main(void) { printf("%ld\\n", twice(seven) + more(seven)); return 0; }
    """
    )
    ran = recorded(source, tmp_path, opt="seed")
    assert ran.stdout == "24\n"
    assert set(ran.static.functions) == {"@more", "@main"}
    assert [name for _, name in ran.static.unknown] == ["twice"]


def test_other_names_of_a_function() -> None:
    text = """
@s = constant [5 x i8] c"@b()\\00"
@b = dso_local alias i32 (ptr), ptr @a
@c = unnamed_addr alias i32 (ptr), ptr @b
@w = weak alias i32 (ptr), ptr @a
define i32 @a(ptr %p) {
  %x = call i32 @b(ptr @c)
  %y = call i32 @w(ptr %p)
  %z = call i32 @bb(ptr %p)
  ret i32 %x
}
"""
    out = resolve_aliases(text)
    assert "%x = call i32 @a(ptr @a)" in out and "@w(ptr %p)" in out and "@bb(ptr %p)" in out
    assert out.split("define")[0] == text.split("define")[0]
    assert resolve_aliases("@a = global i32 0\n") == "@a = global i32 0\n"
