/* Loops whose iterations may, or may not, run in another order. Each is named by the comment behind it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N 40
#define SHAPE __attribute__((noinline)) static void
typedef const int *Index;
typedef struct { long a, b; } Pair;
typedef struct __attribute__((packed)) { int value; } Loose;
typedef union { int i; float f; short s[2]; } Mixed;

static long held[2 * N];

/* ---- nothing that one iteration writes is touched by another ---------------------------------------------- */
SHAPE gather(long *y, const long *x, Index p) { for (long i = 0; i < N; i++) y[i] = x[p[i]]; } // @gather
SHAPE scatter(long *y, const long *x, Index p) { for (long i = 0; i < N; i++) y[p[i]] = x[i]; } // @scatter
SHAPE in_place(long *y, Index p) { for (long i = 0; i < N; i++) y[p[i]] = y[p[i]] * 3 + 1; } // @in_place
SHAPE halves(long *y, Index r) { for (long i = 0; i < N; i++) y[i] = y[N + r[i]] + 1; } // @halves
SHAPE far_lag(long *y, Index r) { for (long i = 0; i < N; i++) y[i + N] = y[i] + r[r[i]]; } // @far_lag
SHAPE fields(Pair *y, Index r) { for (long i = 0; i < N; i++) y[i].a = y[r[i]].b; } // @fields
SHAPE backwards(long *y, Index p) { for (long i = N - 1; i >= 0; i--) y[p[i]] = y[p[i]] / 2; } // @backwards
SHAPE some(long *y, const long *x, Index p) // every second place twice, but never both
{ for (long i = 0; i < N; i++) if (x[i] & 1) y[p[i] | 1] = x[i]; else y[p[i] & ~1] = x[i]; }
SHAPE guarded(long *y, const long *x, Index p, Index c) { for (long i = 0; i < N; i++) if (c[i]) y[p[i]] = x[i]; } // @guarded
SHAPE own_only(long *y, Index r, Index c) { for (long i = 0; i < N; i++) if (c[i] == 3) y[r[i]] = i; } // @own_only
SHAPE math(double *y, const double *x, Index r) { for (long i = 0; i < N; i++) y[i] = sqrt(x[r[i]]) + pow(x[r[i]], 0.3); } // @math
SHAPE rows(double *y, const double *x, Index start, Index r)
{
    for (long i = 0; i < N; i++) { // @rows
        double s = 0;
        for (int j = start[i]; j < start[i + 1]; j++) s += x[r[j]];
        y[i] = s;
    }
}
SHAPE pieces(double *y, const double *x, Index start, Index r)
{
    for (long i = 0; i < N; i++) // @pieces
        for (int j = start[i]; j < start[i + 1]; j++) y[j] = x[r[j]] * 2 + i;
}
SHAPE search(long *y, const long *x, Index r)
{
    for (long i = 0; i < N; i++) { // @search
        long j = 0;
        while (j < N && x[r[j]] != i) j++;
        y[i] = j;
    }
}
SHAPE ended(long *y, Index m) // behind what ends a row, others write the same
{
    for (long i = 0; i < N; i++) // @ended
        for (int j = 0; j < 4; j++) { if (m[4 * i + j] < 0) break; y[m[4 * i + j]] = i; }
}
SHAPE some_row(char *y, const char *x, Index m) // nobody knows how far a row is read
{
    for (long i = 0; i < N; i++) // @some_row
        for (int j = 0; j < 3; j++) if (x[m[4 * i + j] & 31] > 5) { y[i] = 1; break; }
}
SHAPE blocks(long *y, const long *x, Index p)
{ for (long i = 0; i < N / 2; i++) memcpy(y + 2 * i, x + p[i], 2 * sizeof *y); } // @blocks
SHAPE local(long *y, const long *x, Index p)
{
    for (long i = 0; i < N; i++) { // @local
        long t[4] = {0, 0, 0, 0};
        for (long j = 0; j < 4; j++) t[p[i] & 3] += x[(i + j) % N];
        y[i] = t[i & 3];
    }
}
SHAPE from_global(Index p) { for (long i = 0; i < N; i++) held[p[i]] = held[N + p[i]]; } // @from_global

/* ---- reductions ------------------------------------------------------------------------------------------- */
SHAPE sum(int *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] += i; } // @sum
SHAPE minus(int *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] -= i; } // @minus
SHAPE fsum(double *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] += 0.5 * i; } // @fsum
SHAPE fused(double *y, const double *x, Index r) { for (long i = 0; i < N; i++) y[r[i]] = fma(x[i], 0.5, y[r[i]]); } // @fused
SHAPE product(unsigned *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] *= i + 3; } // @product
SHAPE fproduct(double *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] *= 1.01 * i; } // @fproduct
SHAPE all(int *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] &= ~i; } // @all
SHAPE any(int *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] |= i; } // @any
SHAPE parity(int *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] ^= i; } // @parity
SHAPE least(int *y, Index r, Index p) { for (long i = 0; i < N; i++) y[r[i]] = y[r[i]] < p[i] ? y[r[i]] : p[i]; } // @least
SHAPE most(int *y, Index r, Index p) { for (long i = 0; i < N; i++) y[r[i]] = y[r[i]] > p[i] ? y[r[i]] : p[i]; } // @most
SHAPE uleast(unsigned *y, Index r, const unsigned *p) { for (long i = 0; i < N; i++) y[r[i]] = y[r[i]] < p[i] ? y[r[i]] : p[i]; } // @uleast
SHAPE umost(unsigned *y, Index r, const unsigned *p) { for (long i = 0; i < N; i++) y[r[i]] = y[r[i]] > p[i] ? y[r[i]] : p[i]; } // @umost
SHAPE fleast(double *y, Index r, const double *x) { for (long i = 0; i < N; i++) y[r[i]] = fmin(y[r[i]], x[i]); } // @fleast
SHAPE fmost(double *y, Index r, const double *x) { for (long i = 0; i < N; i++) y[r[i]] = fmax(y[r[i]], x[i]); } // @fmost
SHAPE least_by_if(int *y, Index r, Index p) { for (long i = 0; i < N; i++) if (p[i] < y[r[i]]) y[r[i]] = p[i]; } // @least_by_if
SHAPE most_by_if(double *y, Index r, const double *x) { for (long i = 0; i < N; i++) if (x[i] > y[r[i]]) y[r[i]] = x[i]; } // @most_by_if
SHAPE narrow(unsigned char *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] += i * 77; } // @narrow
SHAPE chained(int *y, Index r, Index p) { for (long i = 0; i < N; i++) y[r[i]] = y[r[i]] + p[i] - i + 7; } // @chained
SHAPE maybe(int *y, Index r, Index c) { for (long i = 0; i < N; i++) if (c[i]) y[r[i]] += i; } // @maybe
SHAPE both_ends(double *y, const double *x, Index r, Index p)
{ for (long i = 0; i < N; i++) { double f = x[r[i]] - x[p[i]]; y[r[i]] += f; y[p[i]] -= f; } } // @both_ends
SHAPE elsewhere(long *y, Index r, Index p) { for (long i = 0; i < N; i++) y[r[i]] += y[N + p[i]]; } // @elsewhere
SHAPE two_kinds(unsigned *y, Index r) { for (long i = 0; i < N; i++) { y[r[i]] += i; y[N + r[i]] *= 3; } } // @two_kinds
SHAPE in_register(const double *x, Index r, double *out)
{ double s = 0; for (long i = 0; i < N; i++) s += x[r[i]]; *out = s; } // @in_register
SHAPE longest(Index x, Index r, int *out)
{ int s = 0; for (long i = 0; i < N; i++) s = x[r[i]] > s ? x[r[i]] : s; *out = s; } // @longest
SHAPE tally(Index x, Index r, int *out)
{ int s = 0, t = 1; for (long i = 0; i < N; i++) { if (x[r[i]] > 7) s++; t ^= x[r[i]]; } *out = s + t; } // @tally
SHAPE nested_sum(const double *x, Index start, Index r, double *out)
{
    double s = 0;
    for (long i = 0; i < N; i++) // @nested_sum
        for (int j = start[i]; j < start[i + 1]; j++) s += x[r[j]];
    *out = s;
}

/* ---- what looks like one and is none ----------------------------------------------------------------------- */
SHAPE observed(int *y, int *z, Index r)
{ for (long i = 0; i < N; i++) { y[r[i]] += i; z[i] = y[r[i]]; } } // @observed
SHAPE seen_later(int *y, int *z, Index r, Index p)
{
    for (long i = 0; i < N; i++) { // @seen_later
        y[r[i]] += i; // updates
        z[i] = y[p[i]]; // looks
    }
}
SHAPE mixed(unsigned *y, Index r, Index p)
{
    for (long i = 0; i < N; i++) { // @mixed
        y[r[i]] += i; // adds
        y[p[i]] *= 3; // multiplies
    }
}
SHAPE same_update(double *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] = 0.5 * y[r[i]] + 0.1; } // @same_update
SHAPE given_update(unsigned *y, Index r, unsigned by) { for (long i = 0; i < N; i++) y[r[i]] = (y[r[i]] ^ by) / 3; } // @given_update
SHAPE wide_update(long double *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] = 0.5L * y[r[i]] + 0.1L; } // @wide_update
SHAPE own_update(unsigned *y, Index p) { for (long i = 0; i < N; i++) y[p[i]] = (y[p[i]] ^ 5) / 3; } // @own_update
SHAPE nested_update(unsigned *y, Index r, const unsigned *x)
{
    for (long i = 0; i < N; i++) { // @nested_update
        unsigned by = x[i];
        for (long j = 0; j < N; j++) y[r[i] + r[j & 1]] = (y[r[i] + r[j & 1]] ^ by) / 3; // @inner_update
    }
}
SHAPE two_updates(unsigned *y, Index r, Index p) { for (long i = 0; i < N; i++) { y[r[i]] = (y[r[i]] ^ 5) / 3; y[p[i]] = y[p[i]] / 2 + 9; } } // @two_updates
SHAPE seen_update(unsigned *y, unsigned *z, Index r) { for (long i = 0; i < N; i++) { y[r[i]] = (y[r[i]] ^ 5) / 3; z[i] = y[r[i]]; } } // @seen_update
SHAPE cut_update(unsigned *y, Index r, Index p)
{ for (long i = 0; i < N; i++) { unsigned v = y[r[i]]; y[p[i] & 7] = 5; y[r[i]] = (v ^ 5) / 3; } } // @cut_update
SHAPE found_again(double *y, const double *x, const Pair *e)
{
    const Pair *at = e;
    for (long i = 0; i < N; i++) { // @found_again
        const Pair *here = at++;
        y[here->a] = sin(x[e[i].a]) * 3;
    }
}
SHAPE found_field(Pair *y, Index r) { for (long i = 0; i < N; i++) y[r[i]].b = y[r[i]].a * 3; } // @found_field
SHAPE found_other(double *y, const double *x, const Pair *e)
{
    const Pair *at = e;
    for (long i = 0; i < N; i++) { // @found_other
        const Pair *here = at++;
        y[here->a] = sin(x[e[i].b]) * 3;
    }
}
SHAPE narrow_least(short *y, Index r, Index p) { for (long i = 0; i < N; i++) { int v = p[i] % 4; if (v < y[r[i]]) y[r[i]] = (short)v; } } // @narrow_least
SHAPE narrow_cut(short *y, Index r, Index p) { for (long i = 0; i < N; i++) { int v = p[i] * 999; if (v < y[r[i]]) y[r[i]] = (short)v; } } // @narrow_cut
SHAPE sum_of_own(unsigned *y, Index r, Index p) { for (long i = 0; i < N; i++) y[r[i]] += y[p[i]]; } // @sum_of_own
SHAPE damped(double *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] = 0.5 * y[r[i]] + i; } // @damped
SHAPE reversed(unsigned *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] = i - y[r[i]]; } // @reversed
SHAPE quotient(double *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] /= i + 1.5; } // @quotient
SHAPE shifted(unsigned *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] <<= i & 1; } // @shifted
SHAPE own_test(int *y, Index r) { for (long i = 0; i < N; i++) if (y[r[i]] < 50) y[r[i]] += i; } // @own_test
SHAPE takes_nan(double *y, Index r, const double *x) { for (long i = 0; i < N; i++) if (!(x[i] >= y[r[i]])) y[r[i]] = x[i]; } // @takes_nan
SHAPE relax(int *y, Index r, Index p) { for (long i = 0; i < N; i++) if (y[p[i]] + 1 < y[r[i]]) y[r[i]] = y[p[i]] + 1; } // @relax
SHAPE where(Index x, Index r, int *out)
{ int s = 99, at = 0; for (long i = 0; i < N; i++) if (x[r[i]] < s) { s = x[r[i]]; at = (int)i; } *out = s + at; } // @where
SHAPE sticky(signed char *y, Index r) { for (long i = 0; i < N; i++) { int v = y[r[i]] + (int)i; y[r[i]] = v > 90 ? 90 : v; } } // @sticky
SHAPE cut(int *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] = (short)(y[r[i]] + i * 999); } // @cut
SHAPE doubled(unsigned *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] += y[r[i]] + i; } // @doubled
SHAPE torn(char *y, Index r)
{
    for (long i = 0; i < N; i++) { // @torn
        ((Loose *)(y + 4 * r[i]))->value += 300; // whole
        ((Loose *)(y + 4 * r[i] + 2))->value += 7; // between
    }
}
SHAPE two_types(Mixed *y, Index r, Index p)
{
    for (long i = 0; i < N; i++) { // @two_types
        y[r[i]].i += 1; // as int
        y[p[i]].f += 1; // as float
    }
}
SHAPE half_of(Mixed *y, Index r, Index p)
{ for (long i = 0; i < N; i++) { y[r[i]].i += 1; y[p[i]].s[1] += 1; } } // @half_of

/* ---- one iteration needs what another made ------------------------------------------------------------------ */
SHAPE raw(long *y, Index p)
{
    for (long i = 1; i < N; i++) { // @raw
        long t = y[p[i - 1]]; // reads
        y[p[i]] = t + 1; // writes
    }
}
SHAPE war(long *y, const long *x, Index r)
{
    for (long i = 0; i < N; i++) { // @war
        long t = y[i + 1]; // reads ahead
        y[i] = t + x[r[i]]; // writes behind
    }
}
SHAPE waw(long *y, Index r) { for (long i = 0; i < N; i++) y[r[i]] = i; } // @waw
SHAPE lag(long *y, Index r) { for (long i = 0; i < N; i++) y[i + 3] = y[i] + r[r[i]]; } // @lag
SHAPE ended_by_data(long *y, const double *x, Index m) // as far as is known, a row may go on
{
    for (long i = 0; i < N; i++) // @ended_by_data
        for (int j = 0; j < 4; j++) { if (x[j] > 1.3) break; y[m[4 * i + j] & 31] = i; }
}
SHAPE mirror(long *y, Index r) { for (long i = 0; i < N; i++) y[i] = y[N - 1 - i] + r[r[i]]; } // @mirror
SHAPE half_read(Mixed *y, Index r, Index p)
{
    for (long i = 0; i < N; i++) { // @half_read
        short t = y[r[i]].s[1]; // half
        y[p[i]].i = t; // whole
    }
}
SHAPE block_overlap(long *y, Index r) { for (long i = 0; i < N; i++) memcpy(y + r[i], y + N + i, 3 * sizeof *y); } // @block_overlap
SHAPE block_of_any_size(long *y, Index p)
{ for (long i = 0; i < N; i++) memcpy(y + p[i], y + N + p[i], (size_t)p[i]); } // @block_of_any_size
SHAPE scratch(long *y, Index p)
{ long row[8] = {0}; for (long i = 0; i < N; i++) { row[p[i] & 7] = i; y[i] = row[p[i] & 3]; } } // @scratch
SHAPE two_ways(long *y, const long *x, long *z, Index p, Index c, Index d, Index r)
{
    for (long i = 0; i < N; i++) { // @two_ways
        int k;
        if (c[i] || d[r[i]]) { k = r[i]; z[i] = 1; } else k = p[i];
        y[k] = x[i];
    }
}
SHAPE running(double *y, const double *x, Index r)
{ double s = 0; for (long i = 0; i < N; i++) { s += x[r[i]]; y[i] = s; } } // @running
SHAPE decay(const double *x, Index r, double *out)
{ double s = 1; for (long i = 0; i < N; i++) s = 0.5 * s + x[r[i]]; *out = s; } // @decay
SHAPE hunt(Index p, int *y, int *out)
{ int k = 0; for (long i = 0; i < N; i++) { y[p[i]] += k; k = p[k]; } *out = k; } // @hunt
SHAPE compact(long *y, const long *x, Index r, long *out)
{ long k = 0; for (long i = 0; i < N; i++) if (x[r[i]] & 1) y[k++] = i; *out = k; } // @compact
SHAPE last(long *y, const long *x, Index r, long *out)
{ long s = 0; for (long i = 0; i < N; i++) { s = x[r[i]] * 3; y[i] = s; } *out = s; } // @last
SHAPE latest(const long *x, Index r, long *out)
{ long s = 0; for (long i = 0; i < N; i++) if (x[r[i]] > 4) s = i; *out = s; } // @latest
SHAPE previous(long *y, const long *x, Index r)
{ long s = 0; for (long i = 0; i < N; i++) { long t = x[r[i]]; y[i] = t - s; s = t; } } // @previous

/* ---- what is never moved ------------------------------------------------------------------------------------ */
SHAPE shaky(volatile long *y, const long *x, Index r) { for (long i = 0; i < N; i++) y[r[i]] = x[r[i]]; } // @shaky
SHAPE atomically(int *y, Index x, Index r) { for (long i = 0; i < N; i++) __atomic_fetch_add(&y[r[i]], x[r[i]], __ATOMIC_RELAXED); } // @atomically
SHAPE atomic_read(int *y, int *z, Index p) { for (long i = 0; i < N; i++) z[p[i]] = __atomic_load_n(&y[p[i]], __ATOMIC_SEQ_CST); } // @atomic_read
SHAPE talks(const long *x, Index r) { for (long i = 0; i < N; i++) printf("%ld ", x[r[i]]); } // @talks
SHAPE unknown(long *y, Index p) { for (long i = 0; i < N; i++) y[p[i]] = getuid(); } // @unknown
SHAPE behind_pointer(long *y, Index p, long (*f)(long)) { for (long i = 0; i < N; i++) y[p[i]] = f(i); } // @behind_pointer
SHAPE allocates(long **y, Index p) { for (long i = 0; i < N; i++) { y[p[i]] = malloc(8); *y[p[i]] = i; } } // @allocates
SHAPE clocked(long *y, Index p) { for (long i = 0; i < N; i++) y[p[i]] = clock() < 0; } // @clocked
SHAPE assembly(long *y, Index p) { for (long i = 0; i < N; i++) { __asm__ volatile("" ::: "memory"); y[p[i]] = i; } } // @assembly
SHAPE stops(long *y, const long *x, Index p) { for (long i = 0; i < N; i++) { if (x[p[i]] > 90000) break; y[p[i]] = i; } } // @stops
SHAPE until(long *y, const long *x, Index p) { long i = 0; do { y[p[i]] = 1; } while (x[p[i++]] != 7 && i < N); } // @until
SHAPE halfway(long *y, Index p) { for (long i = 0; i < N; i++) { if (p[i] == 20) break; y[p[i]] = i; } } // @halfway
SHAPE walks(long *y, Index p) { for (long i = p[0]; i != 0; i = p[i]) y[i] = p[i]; } // @walks
SHAPE either(long *y, Index p) { for (long i = 0;; i++) { if (p[i] == 20) break; y[p[i]] = i; if (p[i] == 21) break; } } // @either
SHAPE stranger(char *y, Index p) { for (long i = 0; i < N; i++) y[p[i]] = 'x'; } // @stranger
SHAPE from_stranger(char *y, const char *x, Index p) { for (long i = 0; i < N; i++) y[i] = x[p[i]]; } // @from_stranger
SHAPE own_index(long *y, int *a, Index p) { for (long i = 0; i < N; i++) { y[a[p[i]]] = i; a[i] = 0; } } // @own_index
SHAPE jumps(long *y, Index p, long start)
{
    long i = 0;
    if (start) goto inside;
    for (i = 0; i < N; i++) { // @jumps
        y[p[i]] = i;
inside:
        y[p[i] + N] = i;
    }
}
static long twice(long x) { return 2 * x; }
static long square(long x) { return x * x; }
static long next(long x) { return x + 1; }
static long negative(long x) { return -x; }
static long (*maps[])(long) = {twice, square, next, negative}; // too many to compare with each

static void *fresh(size_t bytes)
{
    unsigned char *p = malloc(bytes);
    for (size_t i = 0; i < bytes; i++) p[i] = i % 4 == 0 ? (unsigned char)(i / 4 * 7) & 15 : 0;
    return p;
}
#define NEW(TYPE) ((TYPE *)fresh((3 * N + 4) * sizeof(long)))

int main(int argc, char **argv)
{
    int *p = malloc(N * sizeof *p), *r = malloc(4 * N * sizeof *r), *start = malloc((N + 1) * sizeof *start);
    int *c = malloc(N * sizeof *c), *zero = calloc(N, sizeof *zero), *ones = malloc(N * sizeof *ones);
    start[0] = 0;
    for (int i = 0; i < N; i++) {
        p[i] = (i * 7 + 3) % N;
        start[i + 1] = start[i] + i % 4;
        c[i] = i % 5;
        ones[i] = 1;
    }
    for (int i = 0; i < 4 * N; i++) r[i] = (i * i + 1) % 7 + i % 2;
    c[3] = c[8] = c[13] = c[18] = c[23] = c[28] = c[33] = c[38] = 0;
    c[9] = 3; // one iteration in which own_only writes
    int *m = malloc(4 * N * sizeof *m);
    for (int i = 0; i < 4 * N; i++) m[i] = i % 4 == 0 ? i / 4 : i % 4 == 1 ? -1 : i % 3;
    double *x = malloc(2 * N * sizeof *x), *f = malloc(2 * N * sizeof *f), out[2] = {0, 0};
    for (int i = 0; i < 2 * N; i++) { x[i] = 1 + i * 0.25; f[i] = 100 - i; }
    int small[2] = {0, 0};
    long big[2] = {0, 0};

    gather(NEW(long), NEW(long), p); scatter(NEW(long), NEW(long), p); in_place(NEW(long), p); halves(NEW(long), r);
    far_lag(NEW(long), r); fields(NEW(Pair), r); backwards(NEW(long), p); some(NEW(long), NEW(long), p);
    guarded(NEW(long), NEW(long), p, c); own_only(NEW(long), r, c); math(f, x, r); rows(f, x, start, r);
    pieces(f, x, start, r); search(NEW(long), NEW(long), r); blocks(NEW(long), NEW(long), p); local(NEW(long), NEW(long), p);
    from_global(p); ended(NEW(long), m); some_row(NEW(char), NEW(char), m);
    sum(NEW(int), r); minus(NEW(int), r); fsum(f, r); fused(f, x, r); product(NEW(unsigned), r); fproduct(f, r); all(NEW(int), r);
    any(NEW(int), r); parity(NEW(int), r); least(NEW(int), r, p); most(NEW(int), r, p);
    uleast(NEW(unsigned), r, NEW(unsigned)); umost(NEW(unsigned), r, NEW(unsigned)); fleast(f, r, x); fmost(f, r, x);
    least_by_if(NEW(int), r, p); most_by_if(f, r, x);
    narrow(NEW(unsigned char), r); chained(NEW(int), r, p); maybe(NEW(int), r, c); both_ends(f, x, r, p);
    elsewhere(NEW(long), r, p); two_kinds(NEW(unsigned), r); in_register(x, r, out); longest(p, r, small); tally(p, r, small);
    nested_sum(x, start, r, out);
    observed(NEW(int), NEW(int), r); seen_later(NEW(int), NEW(int), r, p); mixed(NEW(unsigned), r, p); sum_of_own(NEW(unsigned), r, p);
    same_update(f, r); wide_update(NEW(long double), r); given_update(NEW(unsigned), r, argc + 7); own_update(NEW(unsigned), p); nested_update(NEW(unsigned), r, NEW(unsigned));
    two_updates(NEW(unsigned), r, p); seen_update(NEW(unsigned), NEW(unsigned), r); cut_update(NEW(unsigned), r, p);
    Pair *pairs = NEW(Pair);
    for (int i = 0; i < N; i++) pairs[i].a = r[i], pairs[i].b = p[i];
    found_field(NEW(Pair), r); found_again(f, x, pairs); found_other(f, x, pairs);
    narrow_least(NEW(short), r, p); narrow_cut(NEW(short), r, p);
    damped(f, r); reversed(NEW(unsigned), r); quotient(f, r); shifted(NEW(unsigned), r); own_test(NEW(int), r);
    takes_nan(f, r, x); relax(NEW(int), r, p); where(p, r, small);
    sticky(NEW(signed char), r); cut(NEW(int), r); doubled(NEW(unsigned), r); torn(NEW(char), r); two_types(NEW(Mixed), r, p);
    half_of(NEW(Mixed), r, p);
    raw(NEW(long), p); war(NEW(long), NEW(long), r); waw(NEW(long), r); lag(NEW(long), r); ended_by_data(NEW(long), x, m); mirror(NEW(long), r);
    half_read(NEW(Mixed), r, p); block_overlap(NEW(long), r); block_of_any_size(NEW(long), p); two_ways(NEW(long), NEW(long), NEW(long), p, zero, ones, r);
    scratch(NEW(long), p); running(f, x, r); decay(x, r, out); hunt(p, NEW(int), small); compact(NEW(long), NEW(long), r, big);
    last(NEW(long), NEW(long), r, big); latest(NEW(long), r, big); previous(NEW(long), NEW(long), r);
    shaky(NEW(long), NEW(long), r); atomically(NEW(int), p, r); atomic_read(NEW(int), NEW(int), p); talks(NEW(long), r); unknown(NEW(long), p);
    behind_pointer(NEW(long), p, maps[argc > 5]); allocates(NEW(long *), p); clocked(NEW(long), p);
    assembly(NEW(long), p); stops(NEW(long), NEW(long), p); until(NEW(long), NEW(long), p); halfway(NEW(long), p); walks(NEW(long), p); either(NEW(long), p);
    char *copy = strdup("a text of more than forty characters, all of them small");
    stranger(copy, p); from_stranger(NEW(char), copy, p); own_index(NEW(long), NEW(int), p); jumps(NEW(long), p, argc > 5);
    printf("%g %g %d %d %ld %s %ld\n", out[0], f[3], small[0], small[1], big[0], copy, held[3]);
    return argv[0] == NULL;
}
