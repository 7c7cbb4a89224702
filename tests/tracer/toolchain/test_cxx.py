"""C++ programs, and C programs with constructors: what runs around `main`, what is thrown, what is virtual."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from tracecut.ir.llvm.demangle import LONGEST, demangled
from tracecut.ir.llvm.passes.global_constructors import has_constructors, place_constructors
from tracecut.support.errors import SourceError, ToolchainError, UsageError
from tracecut.tracer.depgraph.builder import Builder
from tracecut.tracer.runtime.link import executable
from tracecut.tracer.toolchain import find_compilers
from tracecut.tracer.toolchain.clang import Flags, parse_flags, to_ir
from tracecut.tracer.toolchain.find_compilers import cxx_headers
from tracecut.tracer.toolchain.passes import canonical, emit_object
from tracecut.tracer.trace.instrument.outline_allocators import outline_operators
from tracecut.tracer.trace.record.record import record

from tracecut.api.trace import BuildSettings, prepare

from ...waiting import HUNG

LIFETIMES = r"""
#include <cstdio>
struct Named {
    const char *name;
    explicit Named(const char *name) : name(name) { std::printf("+%s ", name); }
    ~Named() { std::printf("-%s ", name); }
};
static Named first("first"), second("second");
__attribute__((constructor(200))) static void early() { std::printf("early "); }
__attribute__((constructor(300))) static void later() { std::printf("later "); }
__attribute__((destructor)) static void last() { std::puts("last"); }
inline Named shared("shared");
Named &local() { static Named once("once"); return once; }
thread_local Named mine("mine");
int main() {
    Named scope("scope");
    std::printf("[%s %s %s] ", local().name, local().name, mine.name);
}
"""
LIFETIMES_SAY = (
    "early later +shared +first +second +scope +once +mine [once once mine] "
    "-scope -mine -once -second -first -shared last\n"
)

THROWING = r"""
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>
struct Cleanup { int &count; ~Cleanup() { count++; } };
static int depth(int n, int &cleaned) {
    Cleanup guard{cleaned};
    if (n == 0) throw std::out_of_range("bottom");
    return 1 + depth(n - 1, cleaned);
}
static int guarded(int n) noexcept { try { throw n; } catch (int value) { return value * 2; } }
int main() {
    int cleaned = 0, sum = 0;
    try { sum += depth(20, cleaned); } catch (const std::logic_error &error) { std::printf("%s ", error.what()); }
    for (int i = 0; i < 10; i++) {
        try { if (i % 3 == 0) throw std::string("three"); sum += i; }
        catch (const std::string &text) { sum += static_cast<int>(text.size()); }
    }
    try { try { throw 1; } catch (int) { throw; } } catch (...) { sum += 1000; }
    try { std::vector<int>(3).at(7); } catch (const std::exception &) { sum += 5000; }
    std::printf("%d %d %d\n", cleaned, sum, guarded(21));
}
"""
THROWING_SAYS = "bottom 21 6047 42\n"

SHAPES = r"""
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>
struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual std::string name() const { return "?"; }
};
struct Tagged { int tag = 0; virtual int code() const { return tag; } };
struct Square : Shape, Tagged {
    double side;
    explicit Square(double side) : side(side) { tag = 4; }
    double area() const override { return side * side; }
    std::string name() const override { return "square"; }
    int code() const override { return tag * 10; }
};
template <class T, int N> struct Polynomial {
    T terms[N];
    T operator()(T x) const { T sum{}; for (int i = N; i-- > 0;) sum = sum * x + terms[i]; return sum; }
};
template <int N> struct Factorial { static constexpr long value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constexpr long value = 1; };
int main() {
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 1; i <= 3; i++) shapes.push_back(std::make_unique<Square>(i));
    double total = std::accumulate(shapes.begin(), shapes.end(), 0.0, [](double s, auto &p) { return s + p->area(); });
    Tagged *tagged = dynamic_cast<Tagged *>(shapes[1].get());
    std::map<std::string, int> counts;
    std::istringstream words("a rose is a rose is a rose");
    for (std::string word; words >> word;) counts[word]++;
    std::vector<int> numbers{5, 3, 9, 1};
    std::sort(numbers.begin(), numbers.end(), std::greater<int>());
    std::function<long(long)> twice = [](long x) { return 2 * x; };
    Polynomial<double, 3> p{{1, 2, 3}};
    std::cout << total << ' ' << shapes[0]->name() << ' ' << tagged->code() << ' ' << counts["rose"] << ' '
              << numbers[0] << ' ' << twice(Factorial<6>::value) << ' ' << p(2) << std::endl;
}
"""
SHAPES_SAY = "14 square 40 3 9 1440 17\n"


def run_both(sources: Sequence[Path], folder: Path, *options: str) -> tuple[str, str]:
    """What the program prints as a user would build it, and as it is built from its canonical form."""
    names, flags = parse_flags([*map(str, sources), *options])
    own = [folder / f"build{number}" for number in range(len(names))]
    for place in own:
        place.mkdir()
    jobs = [(Path(name), flags, place) for name, place in zip(names, own, strict=True)]
    native = [emit_object(to_ir(*job, canonical=False), optimise=False) for job in jobs]
    whole = emit_object(str(canonical([to_ir(*job, canonical=True) for job in jobs])), optimise=True)
    said = []
    for objects, name in ((native, "native"), ([whole], "canonical")):
        program = executable(objects, flags, folder / name)
        done = subprocess.run([program], capture_output=True, text=True, timeout=HUNG)
        assert done.returncode == 0 and done.stderr == ""
        said.append(done.stdout)
    return said[0], said[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(LIFETIMES, LIFETIMES_SAY), (THROWING, THROWING_SAYS), (SHAPES, SHAPES_SAY)],
    ids=["lifetimes", "throwing", "shapes"],
)
def test_cxx_programs_do_what_they_say(text: str, expected: str, tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text(text)
    assert run_both([source], tmp_path, "-std=c++17", "-O2") == (expected, expected)


EXHAUSTED = r"""
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>
struct Wide { alignas(64) double part[8]; };
static char *volatile kept;  // else clang may leave out what is allocated and freed again
int main(int count, char **) {
    long sum = 0;
    for (int i = 0; i < 20; i++) {
        try {
            std::size_t size = i % 5 ? 100u * count : ~std::size_t(0) / 4;
            char *memory = new char[size];
            kept = memory;
            memory[i] = 1;
            std::vector<Wide> wide(3);
            wide[2].part[1] = i;
            sum += memory[i] + long(wide[2].part[1]);
            delete[] memory;
        } catch (const std::bad_alloc &) { sum += 1000; }
    }
    int *maybe = new (std::nothrow) int[4];
    sum += maybe != nullptr;
    delete[] maybe;
    std::printf("%ld\n", sum);
}
"""
EXHAUSTED_SAYS = "4177\n"


READING = r"""
#include <cstdio>
#include <cstdlib>
struct Note { int *count; ~Note() { ++*count; } };  // so that every call that may throw is an invoke
static int read_all(std::FILE *file, int *count) {
    Note note{count};
    char line[64], word[16], *text = nullptr;
    std::size_t room = 0;
    int n = 0, m = 0;
    if (std::fscanf(file, "%d %15s", &n, word) != 2 || std::fscanf(file, "%d %d ", &m, count) != 2) return -1;
    std::fgets(line, sizeof line, file);
    long got = getline(&text, &room, file);
    std::size_t left = std::fread(line, 1, 3, file);
    line[left] = 0;
    std::printf("%d %s %d %ld %c %s ", n, word, m, got, text[0], line);
    std::free(text);
    return 0;
}
int main() {
    std::FILE *file = std::tmpfile();
    std::fputs("12 abc 5 40 \nsecond line\nthird\nfourth", file);
    std::rewind(file);
    int count = 0;
    int bad = read_all(file, &count);
    std::printf("%d %d\n", bad, count);
}
"""
READING_SAYS = "12 abc 5 6 t fou 0 41\n"


@pytest.mark.parametrize("opt", ["O1", "seed"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [(LIFETIMES, LIFETIMES_SAY), (THROWING, THROWING_SAYS), (EXHAUSTED, EXHAUSTED_SAYS), (READING, READING_SAYS)],
    ids=["lifetimes", "throwing", "exhausted", "reading"],
)
def test_traced_cxx_programs_do_what_they_say(text: str, expected: str, opt: str, tmp_path: Path) -> None:
    source = tmp_path / "program.cpp"
    source.write_text(text)
    names, flags = parse_flags([str(source), "-std=c++17"])
    ready = prepare(names, flags, tmp_path, BuildSettings(opt))
    builder = Builder(ready.static)
    done = record([ready.program], ready.static, lambda _, words: builder.feed(words), folder=tmp_path)
    assert done.finished is not None and done.finished.ok and not done.damaged
    assert done.finished.stdout.read_text() == expected
    graph = builder.graph()
    assert graph.n == done.totals.instructions and graph.m > graph.n / 3


def test_an_invoked_operator_gets_a_function_of_its_own() -> None:
    text = (
        "declare ptr @_Znwm(i64)\n"
        "define ptr @f(i64 %n) personality ptr @p {\n"
        "  %x = call ptr @_Znwm(i64 %n)\n"
        "  %y = invoke noalias noundef nonnull ptr @_ZnamSt11align_val_tRKSt9nothrow_t(i64 %n, i64 8, ptr %x) #3\n"
        "          to label %a unwind label %b\n"
    )
    out = outline_operators(text)
    assert "%x = call ptr @_Znwm(i64 %n)" in out
    assert "ptr @operator._ZnamSt11align_val_tRKSt9nothrow_t(i64 %n, i64 8, ptr %x) #3" in out
    assert "call ptr @_ZnamSt11align_val_tRKSt9nothrow_t(i64 %a, i64 %b, ptr %c)" in out
    assert "@operator._Znwm" not in out


def test_invoked_reads_get_a_function_for_each_format() -> None:
    text = (
        "define i32 @f(ptr %file, ptr %x) personality ptr @p {\n"
        "  %y = invoke noundef i32 (ptr, ptr, ...) @fscanf(ptr noundef %file, ptr noundef @s, ptr %x)\n"
        "          to label %a unwind label %b\n"
        "  %z = invoke i32 (ptr, ptr, ...) @fscanf(ptr %file, ptr @t, ptr %x) to label %a unwind label %b\n"
        "  %u = invoke i32 (ptr, ptr, ...) @fscanf(ptr %file, ptr @s, ptr %x) to label %a unwind label %b\n"
        "  %v = invoke i32 @fclose(ptr %file) to label %a unwind label %b\n"
    )
    out = outline_operators(text)
    assert "%y = invoke noundef i32 @operator.fscanf(ptr noundef %file, ptr noundef @s, ptr %x)\n" in out
    assert "%z = invoke i32 @operator.fscanf.2(ptr %file, ptr @t, ptr %x) to label" in out
    assert "%u = invoke i32 @operator.fscanf(ptr %file, ptr @s, ptr %x) to label" in out
    assert "define internal i32 @operator.fscanf.2(ptr %a, ptr %b, ptr %c) uwtable {" in out
    assert "  %memory = call i32 (ptr, ptr, ...) @fscanf(ptr %a, ptr @t, ptr %c)\n  ret i32 %memory\n" in out
    assert "invoke i32 @fclose" in out and out.count("define internal") == 2
    assert outline_operators("define void @f() {\n}\n") == "define void @f() {\n}\n"


def test_names_as_people_write_them() -> None:
    string = "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4swapERS4_"
    assert demangled("_ZNSolsEi") == "std::ostream::operator<<(int)"
    assert demangled(string) == "std::string::swap(std::string&)"
    assert demangled("_Zwrong") == "_Zwrong" and demangled("strlen") == "strlen"
    long = demangled("_ZSt4sortISt6vectorIiSaIiEEEvT_")
    assert len(long) == LONGEST and long.startswith("void std::sort<std::vector<int") and long.endswith("…")


def test_several_files_options_and_languages(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "part.hpp").write_text(
        '#pragma once\n#include <stdexcept>\nextern "C" int twice(int);\nint risky(int);\n'
        "template <class T> inline T &slot() { static T value = T(FACTOR); return value; }\n"
    )
    (tmp_path / "main.cc").write_text(
        "#include <part.hpp>\n#include <cmath>\n#include <cstdio>\n"
        "int main() { try { risky(9); } catch (const std::runtime_error &e) {\n"
        ' std::printf("%s %d %g %d\\n", e.what(), twice(4), std::sqrt(16.0), slot<int>()); } }\n'
    )
    (tmp_path / "part.cxx").write_text(
        "#include <part.hpp>\n"
        'int risky(int n) { slot<int>() += n; if (n > 3) throw std::runtime_error("far"); return n; }\n'
    )
    (tmp_path / "plain.c").write_text("int twice(int n) { return FACTOR * n / 5; }\n")
    sources = [tmp_path / name for name in ("main.cc", "part.cxx", "plain.c")]
    said = run_both(sources, tmp_path, "-I", str(tmp_path / "inc"), "-DFACTOR=10", "-lm")
    assert said == ("far 8 4 19\n", "far 8 4 19\n")


def test_constructors_of_c_run_in_their_order(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text(
        "#include <stdio.h>\n"
        '__attribute__((constructor)) static void plain(void) { printf("plain "); }\n'
        '__attribute__((constructor(1000))) static void second(void) { printf("second "); }\n'
        '__attribute__((constructor(101))) static void first(int n, char **v) { printf("first%d%d ", n, !!v); }\n'
        '__attribute__((destructor(101))) static void end(void) { puts("end"); }\n'
        '__attribute__((destructor)) static void near(void) { printf("near "); }\n'
        'int main(void) { printf("main "); return 0; }\n'
    )
    expected = "first11 second plain main near end\n"
    assert run_both([source], tmp_path) == (expected, expected)


def test_a_group_that_is_dropped_takes_its_constructor_along() -> None:
    text = (
        "$kept = comdat any\n"
        "@kept = linkonce_odr global i32 0, comdat\n"
        "@llvm.global_ctors = appending global [3 x { i32, ptr, ptr }] "
        "[{ i32, ptr, ptr } { i32 65535, ptr @a, ptr null }, "
        '{ i32, ptr, ptr } { i32 7, ptr @"b c", ptr @kept }, { i32, ptr, ptr } { i32 65535, ptr @a, ptr @other }]\n'
    )
    assert has_constructors(text)
    placed = place_constructors(text)
    assert not has_constructors(placed)
    assert [line for line in placed.splitlines() if "tracecut.ctors" in line] == [
        '@"tracecut.ctors.0" = internal constant ptr @a, section ".init_array", align 8',
        '@"tracecut.ctors.1" = internal constant ptr @"b c", section ".init_array.00007", comdat($kept), align 8',
        '@"tracecut.ctors.2" = internal constant ptr @a, section ".init_array", align 8',
    ]


def test_lists_that_llvm_would_not_print_are_refused() -> None:
    one = "[{ i32, ptr, ptr } { i32 1, ptr @a, ptr null }]"
    text = f"@llvm.global_ctors = appending global [2 x {{ i32, ptr, ptr }}] {one}\n"
    with pytest.raises(SourceError, match=r"the list @llvm\.global_ctors is not as LLVM prints it"):
        place_constructors(text)
    assert place_constructors("define void @f() {\n}\n") == "define void @f() {\n}\n"


def test_a_cxx_source_brings_the_cxx_library() -> None:
    assert parse_flags(["a.cpp", "b.c", "-lm"]) == (["a.cpp", "b.c"], Flags(libraries=("m", "stdc++", "gcc_s")))
    assert parse_flags(["a.c", "-lstdc++"])[1].libraries == ("stdc++",)
    with pytest.raises(UsageError, match=r"-stdlib=libc\+\+: C\+\+ programs are bound to libstdc\+\+"):
        parse_flags(["a.cpp", "-stdlib=libc++"])


def test_missing_headers_are_named_with_the_fix(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cxx_headers.cache_clear()
    monkeypatch.setattr(find_compilers, "CXX_FOLDER", tmp_path)
    (tmp_path / "99").mkdir()  # headers that are not whole
    try:
        with pytest.raises(ToolchainError, match=r"C\+\+ needs the headers of libstdc\+\+") as caught:
            cxx_headers()
    finally:
        cxx_headers.cache_clear()
    assert "Install g++" in caught.value.hint


def test_compile_errors_of_cxx_are_shown(tmp_path: Path) -> None:
    source = tmp_path / "bad.cpp"
    source.write_text("#include <vector>\nint main() { std::vector<int> v; return v.nothing(); }\n")
    with pytest.raises(SourceError) as caught:
        to_ir(source, Flags(), tmp_path, canonical=True)
    assert "bad.cpp:2:43: error: no member named 'nothing'" in caught.value.detail
