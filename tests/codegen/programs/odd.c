/* Memory of every kind, and loops at the edge of what there is: none of it may bring down who looks at it. */
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile int zero_ = 0, one_ = 1, few_ = 5;

SHAPE empty_arrays(void)
{
    int n = zero_, *a = malloc((size_t)n);
    long *x = malloc((size_t)n), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < n; e++)
            y[a[e]] += x[a[e]];
    show("empty_arrays", y, DATA);
}

SHAPE one_element(void)
{
    int *a = ints(JOBS, one_);
    long *x = longs(1, 100), *y = longs(1, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @one_element
            y[a[e]] += x[a[e]];
    show("one_element", y, 1);
}

SHAPE negative_indices(void) /* a pointer into the middle */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *middle = x + DATA / 2;
    for (int e = 0; e < JOBS; e++)
        a[e] -= DATA / 2;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @negative_indices
            y[a[e] + DATA / 2] += middle[a[e]];
    show("negative_indices", y, DATA);
}

SHAPE past_the_end(void) /* a pointer behind the last element, walked backwards */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *end = x + DATA;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = JOBS; e-- > 0;)
            y[a[e]] += end[-1 - a[e]];
    show("past_the_end", y, DATA);
}

SHAPE counted_from_one(void) /* the base of an array lies in front of it */
{
    int *a = ints(JOBS, DATA), n = JOBS + zero_;
    long *x = longs(DATA, 100), *y = longs(DATA, 9), *volatile from = x - one_, *volatile to = y - one_;
    long *x1 = from, *y1 = to;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < n; e++)
            y1[a[e] + 1] += x1[DATA - a[e]];
    show("counted_from_one", y, DATA);
}

SHAPE vla(void)
{
    int n = DATA + zero_, *a = ints(JOBS, DATA);
    long x[n], y[n];
    for (int i = 0; i < n; i++)
        x[i] = y[i] = i;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @vla
            y[a[e]] += x[a[e]];
    show("vla", y, n);
}

SHAPE stack_arrays(void)
{
    int a[JOBS];
    long x[DATA], y[DATA];
    for (int e = 0; e < JOBS; e++)
        a[e] = (int)(draw() % DATA);
    for (int i = 0; i < DATA; i++)
        x[i] = y[i] = i;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @stack_arrays
            y[a[e]] += x[(a[e] + 7) % DATA];
    show("stack_arrays", y, DATA);
}

struct bits { unsigned low : 9, high : 13, rest : 10; };
SHAPE bitfields(void)
{
    struct bits *b = calloc(JOBS, sizeof *b);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int e = 0; e < JOBS; e++) {
        b[e].low = draw() % DATA;
        b[e].high = draw() % DATA;
    }
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @bitfields
            y[b[e].low] += x[b[e].high];
    show("bitfields", y, DATA);
}

union either { int i; float f; char c[4]; };
SHAPE unions(void)
{
    union either *u = malloc(JOBS * sizeof *u);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int e = 0; e < JOBS; e++)
        u[e].i = (int)(draw() % DATA);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @unions
            y[u[e].i] += x[(unsigned char)u[e].c[0] % DATA];
    show("unions", y, DATA);
}

SHAPE narrow_indices(void)
{
    signed char *a = malloc(JOBS);
    short *b = shorts(JOBS, DATA);
    long *x = longs(256, 100), *y = longs(DATA, 9), *middle = x + 128;
    for (int e = 0; e < JOBS; e++)
        a[e] = (signed char)draw();
    for (int t = 0; t < SWEEPS; t++)
        for (short e = 0; e < JOBS; e++) // @narrow_indices
            y[b[e]] += middle[a[e]];
    show("narrow_indices", y, DATA);
}

SHAPE mapped(void) /* memory behind which there is none */
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *all = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(all + page, 2 * page, PROT_NONE);
    long n = (long)(page / sizeof(long)), *x = (long *)all, *y = longs(DATA, 9);
    int *a = ints(JOBS, DATA), *b = ints(JOBS, n);
    for (long i = 0; i < n; i++)
        x[i] = i;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @mapped
            y[a[e]] += x[b[e]];
    show("mapped", y, DATA);
    munmap(all, 3 * page);
}

SHAPE many_kinds(void) /* of allocation */
{
    int *a = NULL;
    long *x = aligned_alloc(64, 64 * DATA), *y = NULL;
    posix_memalign((void **)&y, 128, DATA * sizeof *y);
    for (int n = 1; n <= JOBS; n += 50)
        a = realloc(a, (size_t)(n + 50) * sizeof *a);
    for (int e = 0; e < JOBS; e++)
        a[e] = (int)(draw() % DATA);
    for (int i = 0; i < DATA; i++)
        x[i] = y[i] = i;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @many_kinds
            y[a[e]] += x[a[e]];
    show("many_kinds", y, DATA);
}

SHAPE freed(void) /* another allocation in each sweep */
{
    int *a = ints(JOBS, DATA);
    long *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        long *x = malloc(DATA * sizeof *x);
        for (int i = 0; i < DATA; i++)
            x[i] = i + t;
        for (int e = 0; e < JOBS; e++) // @freed
            y[a[e]] += x[a[e]];
        free(x);
    }
    show("freed", y, DATA);
}

SHAPE moves(void) /* memory that overlaps itself moves along */
{
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA + 9, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @moves
            y[a[e]] += x[a[e]];
        memmove(x + few_, x, DATA * sizeof *x);
    }
    show("moves", y, DATA);
}

static long huge_[1 << 27]; /* a gigabyte that is hardly touched */
SHAPE huge_static(void)
{
    int *a = ints(JOBS, DATA), *b = ints(JOBS, 1 << 20);
    long *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @huge_static
            y[a[e]] += huge_[64 * (long)b[e]] + e;
    show("huge_static", y, DATA);
}

SHAPE two_dimensions(void)
{
    static long grid[20][DATA];
    int *a = ints(JOBS, 20), *b = ints(JOBS, DATA);
    long *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @two_dimensions
            y[b[e]] += grid[a[e]][b[e]];
            grid[a[e]][b[e]] ^= 5;
        }
    show("two_dimensions", y, DATA);
}

SHAPE rows_of_pointers(void)
{
    int *a = ints(JOBS, 20), *b = ints(JOBS, 10);
    long **rows = malloc(20 * sizeof *rows), *y = longs(DATA, 9);
    for (int i = 0; i < 20; i++)
        rows[i] = longs(10, 50);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @rows_of_pointers
            y[b[e]] += rows[a[e]][b[e]];
    show("rows_of_pointers", y, DATA);
}

SHAPE unsigned_wrap(void) /* u - 1 of nothing is a lot, and is not run through */
{
    unsigned n = (unsigned)zero_, *a = (unsigned *)ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (unsigned e = 0; e < JOBS; e++) { // @unsigned_wrap
            if (a[e] >= DATA)
                for (unsigned k = 0; k < n - 1u; k++)
                    y[k % DATA] += x[a[e] % DATA];
            y[a[e]] += x[a[e] + n];
        }
    show("unsigned_wrap", y, DATA);
}

SHAPE down_to_nothing(void)
{
    unsigned *a = (unsigned *)ints(JOBS + 1, DATA), n;
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        n = JOBS * (unsigned)one_;
        do // @down_to_nothing
            y[a[n]] += x[a[n]];
        while (--n);
    }
    show("down_to_nothing", y, DATA);
}

SHAPE zero_trips(void) /* pieces without anything in them */
{
    int *row = ints(DATA + 1, one_), *col = ints(1, 1);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @zero_trips
            for (int k = row[v]; k < row[v + 1]; k++)
                y[v] += x[col[k]];
            y[v] += row[v];
        }
    show("zero_trips", y, DATA);
}

struct flexible { int n; long x[]; };
SHAPE flexible_array(void)
{
    struct flexible *f = malloc(sizeof *f + DATA * sizeof(long));
    int *a = ints(JOBS, DATA);
    long *y = longs(DATA, 9);
    f->n = JOBS;
    for (int i = 0; i < DATA; i++)
        f->x[i] = 3 * i;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < f->n; e++) // @flexible_array
            y[a[e]] += f->x[a[e]];
    show("flexible_array", y, DATA);
}

struct __attribute__((packed)) packed { char tag; int index; short other; long value; };
SHAPE packed_records(void)
{
    struct packed *p = malloc(JOBS * sizeof *p);
    long *y = longs(DATA, 9);
    for (int e = 0; e < JOBS; e++)
        p[e] = (struct packed){'x', (int)(draw() % DATA), (short)(draw() % DATA), e};
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @packed_records
            y[p[e].index] += p[p[e].other].value;
    show("packed_records", y, DATA);
}

SHAPE wide_numbers(void) /* 128 bits, and floats that are indices */
{
    __int128 *w = calloc(DATA, sizeof *w);
    float *f = floats(JOBS, DATA);
    int *a = ints(JOBS, DATA);
    long *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @wide_numbers
            w[a[e]] += (__int128)e << 40;
            y[(int)f[e]] += 3;
        }
    for (int i = 0; i < DATA; i++)
        y[i] += (long)(w[i] >> 40);
    show("wide_numbers", y, DATA);
}

SHAPE strings(void)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog, and what it has seen there it counts";
    long *y = longs(256, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (const char *c = text; *c; c++)
            y[(unsigned char)*c]++;
    show("strings", y, 256);
}

SHAPE constant_tables(void)
{
    static const int table[8] = {3, 1, 2, 0, 7, 6, 5, 4};
    int *a = ints(JOBS, 8);
    long *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @constant_tables
            y[table[a[e]]] += table[7 - a[e]];
    show("constant_tables", y, DATA);
}

SHAPE place_of_a_pointer(void) /* how far it has come is reckoned from an address, which is a number from outside */
{
    int *b = ints(3 * JOBS, DATA);
    long *x = longs(DATA, 100), *z = longs(JOBS, 9), *volatile begin = z;
    long *p = begin, *stop = begin + JOBS;
    for (int t = 0; t < SWEEPS; t++, p = begin)
        while (p != stop) { // @place_of_a_pointer
            int i = (int)(p - z);
            long *here = p++;
            for (int k = 0; k < 3; k++)
                *here += x[b[3 * i + k]] + i;
        }
    show("place_of_a_pointer", z, JOBS);
}

SHAPE one_of_a_table(void) /* behind an address that is a constant */
{
    static long total[6];
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100), *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) { // @one_of_a_table
            if (x[a[e]] > 40)
                total[4] += x[a[e]];
            y[a[e]] += e;
        }
    show("one_of_a_table", y, DATA);
    show("one_of_a_table", total, 6);
}

SHAPE two_of_a_table(void)
{
    static long total[6];
    int *a = ints(JOBS, DATA);
    long *x = longs(DATA, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @two_of_a_table
            *(x[a[e]] > 40 ? &total[4] : &total[1]) += x[a[e]];
    show("two_of_a_table", total, 6);
}

SHAPE halves(void) /* the jobs that skip have their places in the other half, which is reached by an index */
{
    int *row = ints(JOBS + 1, 1), *a = ints(JOBS, JOBS / 2);
    long *x = longs(JOBS, 100);
    for (int e = 0; e <= JOBS; e++)
        row[e] = e < JOBS / 2 ? 2 * e : JOBS;
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @halves
            for (int k = row[e]; k < row[e + 1]; k++)
                x[JOBS / 2 + a[k]] += x[e];
    show("halves", x, JOBS);
}

int main(void)
{
    halves();
    one_of_a_table();
    two_of_a_table();
    place_of_a_pointer();
    empty_arrays();
    one_element();
    negative_indices();
    past_the_end();
    counted_from_one();
    vla();
    stack_arrays();
    bitfields();
    unions();
    narrow_indices();
    mapped();
    many_kinds();
    freed();
    moves();
    huge_static();
    two_dimensions();
    rows_of_pointers();
    unsigned_wrap();
    down_to_nothing();
    zero_trips();
    flexible_array();
    packed_records();
    wide_numbers();
    strings();
    constant_tables();
    return 0;
}
