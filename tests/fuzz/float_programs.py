"""Random floating-point programs: many small ones in one C file, each with a loop that may be rescheduled.

They are made of what tells one build from another: products next to sums (which may be fused), `float` beside `double`,
constants that a compiler computes by itself, the math library, numbers near the smallest ones, branches and counts that
hang on a sum, conversions. Everything is printed bit by bit: lines of `F` are floating point, lines of `I` integers.
"""

from __future__ import annotations

import random

PRELUDE = """\
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long state;
static double uniform(void) {
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(state >> 11) * 0x1p-53;
}
static void bits(const char *name, double value) {
  unsigned long long word;
  memcpy(&word, &value, 8);
  if (value != value) printf("F %s nan\\n", name);
  else printf("F %s %016llx\\n", name, word);
}
static void count(const char *name, long value) { printf("I %s %ld\\n", name, value); }
static void all_bits(const char *name, const double *values, int n) {
  for (int i = 0; i < n; i++) bits(name, values[i]);
}
static long whole(double value) { return value > -1e9 && value < 1e9 ? (long)value : 7; }
"""
_ONE = ("sin", "cos", "tanh", "atan", "exp2", "cbrt", "floor", "fabs", "rint", "sinh", "erf")
_SAFE = {
    "sqrt": "sqrt(fabs({}))",
    "log": "log(1 + fabs({}))",
    "exp": "exp(-fabs({}))",
    "pow": "pow(fabs({}) + 0.1, 0.5)",
    "square": "pow({}, 2.0)",
    "cube": "pow(fabs({}), 1.5)",
    "hypot": "hypot({}, 0.3)",
    "fma": "fma({}, 0.7, -0.2)",
    "sinf": "sinf((float)({}))",
    "sqrtf": "sqrtf(fabsf((float)({})))",
}
_NUMBERS = "0.1 0.3 0.7 1.1 2.3 -0.6 1e-3 1e-9 3.14159 0.01 1.0 2.0 0.5 -1.75 9.81".split()


class _Program:
    """One of the programs. `draw`: its source of random choices."""

    def __init__(self, number: int, draw: random.Random) -> None:
        self.number = number
        self.draw = draw
        self.points = draw.randrange(20, 48)
        self.edges = draw.randrange(70, 150)

    def number_text(self) -> str:
        text = self.draw.choice(_NUMBERS)
        return f"({text}f)" if self.draw.random() < 0.15 and "." in text else f"({text})"

    def expression(self, names: list[str], depth: int = 3) -> str:
        """An expression over `names` that stays of moderate size."""
        draw = self.draw
        if depth == 0 or draw.random() < 0.15:
            return draw.choice([*names, self.number_text()])
        left = self.expression(names, depth - 1)
        kind = draw.random()
        if kind < 0.3:
            return f"({left} * {self.expression(names, depth - 1)} {draw.choice('+-')} {self.expression(names, 0)})"
        if kind < 0.55:
            return f"({left} {draw.choice('+-*')} {self.expression(names, depth - 1)})"
        if kind < 0.65:
            return f"({left} / (1.5 + fabs({self.expression(names, depth - 1)})))"
        if kind < 0.72:
            return f"(double)(float)({left})"
        if kind < 0.8:
            return f"({left} > {self.expression(names, 0)} ? {self.expression(names, 0)} : {left})"
        if kind < 0.9:
            return draw.choice(list(_SAFE.values())).format(left)
        return f"{draw.choice(_ONE)}(0.2 * {left})" if draw.random() < 0.5 else f"(double)whole(7 * {left})"

    def parts(self) -> list[str]:
        made = [self.constants, self.sums, self.short_loop, self.tiny, self.means, self.helpers, self.floats]
        return [part() for part in self.draw.sample(made, 3)]

    def constants(self) -> str:
        """What a compiler may compute by itself."""
        names = ["c0", "c1", "c2"]
        return f"""\
  {{
    double c0 = {self.number_text()}, c1 = {self.number_text()}, c2 = c0 * c1 + {self.number_text()};
    bits("constants", {self.expression(names)});
    bits("mixed", {self.expression([*names, "x[1]"])});
    count("rounded", whole(1000 * ({self.expression(names)})));
  }}
"""

    def helpers(self) -> str:
        """Calls with constants of functions that are inlined, or not.

        Of numbers that no sum has rounded: `whole` jumps, and a jump is no rounding any more.
        """
        one, two, three = (self.number_text() for _ in range(3))
        return f"""\
  bits("static", near_{self.number}({one}, {two}));
  bits("extern", far_{self.number}({one}, {three}));
  {{
    double s = 0;
    for (int i = 0; i < {self.points}; i++) s = far_{self.number}({two}, s) + near_{self.number}(w[i], {three});
    bits("calls", s);
  }}
"""

    def sums(self) -> str:
        return f"""\
  {{
    double s = 0, limit = {self.number_text()} * {self.points};
    int over = 0, under = 0;
    for (int i = 0; i < {self.points}; i++) {{
      s += {self.expression(["x[i]", "y[i]", "w[i]"])};
      if (s > limit) {{ over++; s = s * 0.5 - {self.number_text()}; }}
      else if (s < 0.3 * i) under++;
    }}
    bits("sum", s);
    count("over", over);
    count("under", under * 1000 + whole(s));
  }}
"""

    def short_loop(self) -> str:
        return f"""\
  {{
    static const double k[5] = {{{", ".join(self.number_text() for _ in range(5))}}};
    double s = {self.number_text()}, t = x[0];
    for (int i = 0; i < {self.draw.choice((3, 4, 5))}; i++) {{
      s = s * k[i] + {self.expression(["k[i]", "i"], 1)};
      t = t * s + k[i];
    }}
    bits("unrolled", s);
    bits("mixed", t);
  }}
"""

    def tiny(self) -> str:
        return f"""\
  {{
    double s = 0, scale = {self.draw.choice(("1e-308", "3e-310", "5e-324", "2e-305"))};
    float f = 0, small = 1e-38f;
    int seen = 0;
    for (int i = 0; i < {self.points}; i++) {{
      double v = x[i] * scale;
      s += v * y[i] + v;
      f += (float)w[i] * small * 0.01f;
      seen += v != 0 && v * 0.25 == 0;
    }}
    bits("denormal", s);
    bits("small", f);
    count("vanished", seen);
  }}
"""

    def means(self) -> str:
        return f"""\
  {{
    double centre[3] = {{0.2, 0.5, 0.8}};
    int size[3] = {{0}};
    for (int sweep = 0; sweep < 6; sweep++) {{
      double sum[3] = {{0}};
      memset(size, 0, sizeof size);
      for (int i = 0; i < {self.points}; i++) {{
        int best = 0;
        for (int c = 1; c < 3; c++)
          if ({self.distance("c")} < {self.distance("best")}) best = c;
        sum[best] += x[i];
        size[best]++;
      }}
      for (int c = 0; c < 3; c++) if (size[c]) centre[c] = sum[c] / size[c];
    }}
    for (int c = 0; c < 3; c++) {{ bits("centre", centre[c]); count("members", size[c]); }}
  }}
"""

    def distance(self, which: str) -> str:
        return f"(x[i] - centre[{which}]) * (x[i] - centre[{which}]) + {self.points}e-3 * y[i] * centre[{which}]"

    def floats(self) -> str:
        return f"""\
  {{
    float s = 0, product = 1;
    double wide = 0;
    int n = 0;
    for (int i = 0; i < {self.points}; i++) {{
      float u = (float)x[i], v = (float)y[i];
      s += u * v + 0.1f;
      product = product * (1.0f + 0.01f * u) - 0.001f * v;
      wide += (double)u * v - s;
      n += (int)(s * 3.0f) % 5 + (product > 1.05f);
    }}
    bits("float", s);
    bits("product", product);
    bits("wide", wide);
    count("steps", n);
  }}
"""

    def region(self) -> str:
        """The loop that may be rescheduled, in a loop that may be its scope."""
        draw = self.draw
        value = self.expression(["d", "w[e % POINTS]", "f[b[e]]"], 2)
        update = draw.choice(("y[a[e]] += v;", "y[a[e]] += v; y[b[e]] -= v;", "z[e] = v;", "g[a[e]] += (float)v;"))
        counted = draw.choice(
            ("n[a[e]]++;", f"n[b[e]] += d > {self.number_text()};", "n[a[e]] += (int)whole(9 * d);", "")
        )
        text = f"""\
  for (int sweep = 0; sweep < 3; sweep++) {{
    for (int e = 0; e < EDGES; e++) {{ // @loop_{self.number}
      double d = x[a[e]] - x[b[e]] * {self.number_text()};
      double v = {value};
      {update}
      {counted}
    }}
    for (int i = 0; i < POINTS; i++) x[i] = x[i] * 0.9 + 0.01 * tanh(y[i]) + 0.001 * g[i];
  }}
"""
        return text.replace("EDGES", str(self.edges)).replace("POINTS", str(self.points))

    def text(self) -> str:
        number, points, edges = self.number, self.points, self.edges
        body = self.parts()
        body.insert(self.draw.randrange(len(body)), self.region())
        return f"""\
static double near_{number}(double u, double v) {{ return {self.expression(["u", "v"])}; }}
double far_{number}(double u, double v) {{
  double r = {self.expression(["u", "v"])};
  return {self.expression(["r", "u"])} * 0.25;
}}
void program_{number}(int salt, int round) {{
  static double x[{points}], y[{points}], w[{points}], z[{edges}];
  static float f[{points}], g[{points}];
  static int a[{edges}], b[{edges}], n[{points}];
  state = {self.draw.randrange(1 << 40)}ull + (unsigned)salt;
  for (int i = 0; i < {edges}; i++) {{
    a[i] = (int)(uniform() * {points});
    b[i] = (int)(uniform() * {points});
    z[i] = 0;
  }}
  for (int i = 0; i < {points}; i++) {{
    x[i] = uniform() * (1 + round);
    y[i] = uniform() - 0.5;
    w[i] = uniform();
    f[i] = (float)uniform();
    g[i] = 0;
    n[i] = 0;
  }}
  printf("program {number}\\n");
{"".join(body)}\
  all_bits("x", x, {points});
  all_bits("y", y, {points});
  all_bits("z", z, {edges});
  for (int i = 0; i < {points}; i++) {{ bits("g", g[i]); count("n", n[i]); }}
}}
"""


def floating_source(seed: int, first: int, count: int) -> str:
    """A C file with the programs `first` … `first + count - 1` of a seed; its argument changes their index arrays."""
    parts = [PRELUDE]
    numbers = range(first, first + count)
    parts += [_Program(number, random.Random(f"{seed}/{number}")).text() for number in numbers]
    calls = [f"  program_{number}(salt, {round});" for round in range(2) for number in numbers]
    parts.append(f"""\
int main(int argc, char **argv) {{
  int salt = argc > 1 ? atoi(argv[1]) : 0;
{chr(10).join(calls)}
  return 0;
}}
""")
    return "\n".join(parts)
