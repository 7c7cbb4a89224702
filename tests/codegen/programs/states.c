/* Buffers that change places between the invocations of a region, members of structures, and whole records copied. */
SHAPE pulled(void)
{
    int *idx = ints(JOBS, JOBS);
    long *x = longs(JOBS, 100), *y = longs(JOBS, 100), drift = 0;
    for (int t = 0; t < 2 * SWEEPS + 1; t++) {
        for (int i = 0; i < JOBS; i++) // @pulled
            y[i] = 3 * x[idx[i]] + x[i];
        for (int i = 0; i < JOBS; i++)
            drift += y[i] ^ x[i];
        long *other = x;
        x = y;
        y = other;
    }
    show("pulled", x, JOBS);
    show("pulled", y, JOBS);
    printf("pulled %ld\n", drift);
    free(idx), free(x), free(y);
}

SHAPE turned(void)
{
    int *idx = ints(JOBS, DATA);
    long *a = longs(DATA, 100), *b = longs(DATA, 100), *c = longs(DATA, 100);
    for (int t = 0; t < 3 * SWEEPS + 2; t++) {
        for (int e = 0; e < JOBS; e++) // @turned
            c[idx[e]] += a[idx[e]] - 2 * b[idx[e]];
        long *first = a;
        a = b;
        b = c;
        c = first;
    }
    show("turned", a, DATA);
    show("turned", b, DATA);
    show("turned", c, DATA);
    free(idx), free(a), free(b), free(c);
}

SHAPE turned_in_place(void) /* whatever the state is, one sweep reads what it writes */
{
    int *idx = ints(JOBS, JOBS);
    long *x = longs(JOBS, 100), *y = longs(JOBS, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @turned_in_place
            x[i] = 3 * x[idx[i]] + y[i];
        long *other = x;
        x = y;
        y = other;
    }
    show("turned_in_place", x, JOBS);
    show("turned_in_place", y, JOBS);
    free(idx), free(x), free(y);
}

SHAPE turned_sometimes(void) /* which buffer is which depends on data: any of them may be any */
{
    int *idx = ints(JOBS, JOBS), *when = ints(2 * SWEEPS, 2);
    long *x = longs(JOBS, 100), *y = longs(JOBS, 100);
    for (int t = 0; t < 2 * SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @turned_sometimes
            y[i] = 3 * x[idx[i]];
        if (when[t]) {
            long *other = x;
            x = y;
            y = other;
        }
    }
    show("turned_sometimes", x, JOBS);
    show("turned_sometimes", y, JOBS);
    free(idx), free(when), free(x), free(y);
}

struct point { long x, y, z; };
struct body { int n, m; int (*corner)[3]; struct point *at, *pull; float *mass; };

SHAPE members(struct body *body)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < body->m; e++) // @members
            for (int k = 0; k < 3; k++) {
                int j = body->corner[e][k];
                body->pull[j].x += body->at[j].y, body->pull[j].y += body->at[j].z, body->pull[j].z += t;
            }
        for (int i = 0; i < body->n; i++) {
            body->at[i].x += body->pull[i].x, body->at[i].y += body->pull[i].y, body->at[i].z += body->pull[i].z;
            body->at[i].x *= body->mass[i] > 1 ? 2 : 1;
            body->pull[i].x = body->pull[i].y = body->pull[i].z = 0;
        }
    }
    show("members", &body->at[0].x, 3 * body->n);
}

SHAPE copied_records(void)
{
    int *idx = ints(JOBS, DATA);
    struct point *from = (struct point *)longs(3 * DATA, 100), *to = (struct point *)longs(3 * JOBS, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) { // @copied_records
            to[e] = from[idx[e]];
            to[e].y += t;
        }
        for (int i = 0; i < DATA; i++)
            from[i].z++;
    }
    show("copied_records", &to[0].x, 3 * JOBS);
    free(idx), free(from), free(to);
}

SHAPE scattered_records(void) /* two iterations may write one record: the last one has to win */
{
    int *idx = ints(JOBS, DATA);
    struct point *from = (struct point *)longs(3 * JOBS, 100), *to = (struct point *)longs(3 * DATA, 100);
    for (int t = 0; t < SWEEPS; t++)
        for (int e = 0; e < JOBS; e++) // @scattered_records
            to[idx[e]] = from[e];
    show("scattered_records", &to[0].x, 3 * DATA);
    free(idx), free(from), free(to);
}

typedef struct {
    int *from;
    long *x, *y;
} Held;

typedef struct {
    long scale;
    const Held *held;
} Owner;

static __attribute__((noinline)) void sweep_lent(const Owner *o)
{
    for (int t = 0; t < SWEEPS; t++) {
        for (int i = 0; i < JOBS; i++) // @lent
            o->held->y[i] += o->held->x[o->held->from[i]] * o->scale;
        for (int v = 0; v < DATA; v++)
            o->held->x[v] += o->held->y[v] & 3;
    }
}

SHAPE lent(void) /* the arrays are members of what the caller of a caller has on its stack */
{
    Held held = {ints(JOBS, DATA), longs(DATA, 100), longs(JOBS, 9)};
    Owner owner = {3, &held};
    sweep_lent(&owner);
    show("lent", held.y, JOBS);
}

SHAPE ranged(long n) /* from the begin to the end of whichever buffer it is, as `for (long v : x)` is compiled */
{
    int *idx = ints(n, n);
    long *x = longs(n, 100), *y = longs(n, 100), *x_end = x + n, *y_end = y + n, sum = 0;
    for (int t = 0; t < 2 * SWEEPS + 1; t++) {
        for (long i = 0; i < n; i++) // @ranged
            y[i] = 3 * x[idx[i]] + x[i];
        for (long *p = y; p != y_end; p++)
            sum += *p;
        long *other = x, *other_end = x_end;
        x = y, x_end = y_end;
        y = other, y_end = other_end;
    }
    show("ranged", x, n);
    printf("ranged %ld\n", sum);
    free(idx), free(x), free(y);
}

SHAPE ranged_unlike(long n) /* they are not as long */
{
    int *idx = ints(n, n);
    long *x = longs(n, 100), *y = longs(n, 100), *x_end = x + n, *y_end = y + n - 7, sum = 0;
    for (int t = 0; t < 2 * SWEEPS + 1; t++) {
        for (long i = 0; i < n; i++) // @ranged_unlike
            y[i] = 3 * x[idx[i]] + x[i];
        for (long *p = y; p != y_end; p++)
            sum += *p;
        long *other = x, *other_end = x_end;
        x = y, x_end = y_end;
        y = other, y_end = other_end;
    }
    show("ranged_unlike", x, n);
    printf("ranged_unlike %ld\n", sum);
    free(idx), free(x), free(y);
}

int main(void)
{
    ranged(JOBS), ranged_unlike(JOBS);
    struct body *body = malloc(sizeof *body);
    *body = (struct body){DATA, JOBS, (int (*)[3])ints(3 * JOBS, DATA), (struct point *)longs(3 * DATA, 9),
                          (struct point *)longs(3 * DATA, 9), floats(DATA, 3)};
    pulled(), turned(), turned_in_place(), turned_sometimes(), members(body), copied_records(), scattered_records();
    lent();
    return 0;
}
