/* Loops beside the indexed one that are unrolled by hand, as reference BLAS writes them; and some that only look so. */

SHAPE update_four(int n) /* what is left over behind the loop */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n), i;
    long *x = longs(n, 100), *y = longs(n, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @update_four
            y[a[e]] += x[b[e]];
        for (i = 0; i < n - 3; i += 4) {
            x[i] += t * y[i] + 1;
            x[i + 1] += t * y[i + 1] + 1;
            x[i + 2] += t * y[i + 2] + 1;
            x[i + 3] += t * y[i + 3] + 1;
        }
        for (; i < n; i++)
            x[i] += t * y[i] + 1;
    }
    show("update_four", x, n);
}

SHAPE sum_five(int n) /* in front of it, and sums of sums */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n, 100), *y = longs(n, 100), last = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @sum_five
            y[a[e]] += x[b[e]] + (last & 3);
        long sum = 0, m = n % 5;
        for (long i = 0; i < m; i++)
            sum += x[i] * y[i];
        for (long i = m; i < n; i += 5)
            sum += x[i] * y[i] + x[i + 1] * y[i + 1] + x[i + 2] * y[i + 2] + x[i + 3] * y[i + 3] + x[i + 4] * y[i + 4];
        last = sum;
    }
    show("sum_five", y, n);
    printf("%ld\n", last);
}

SHAPE take_away_two(int n) /* from the last to the first, and differences */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n, 100), *y = longs(n, 100), sum = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @take_away_two
            y[a[e]] += x[b[e]];
        for (int i = n - 1; i > 0; i -= 2) {
            sum -= y[i] & 7;
            sum -= y[i - 1] & 7;
        }
        for (int i = 0; i < n; i++)
            x[i] += y[i] & 1;
    }
    show("take_away_two", x, n);
    printf("%ld\n", sum);
}

typedef struct {
    long value, rate;
} point;

SHAPE points_two(int n) /* two records of two fields; the fields are not alike */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    point *p = malloc((size_t)n * sizeof *p);
    for (int i = 0; i < n; i++)
        p[i].value = draw() % 100, p[i].rate = draw() % 9;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @points_two
            p[a[e]].rate += p[b[e]].value;
        for (int i = 0; i < n; i += 2) {
            p[i].value += p[i].rate & 3;
            p[i].rate = t;
            p[i + 1].value += p[i + 1].rate & 3;
            p[i + 1].rate = t;
        }
    }
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 31 + p[i].value;
    printf("points_two %ld\n", sum);
}

SHAPE fields_alike(int n) /* one record of two fields with which the same is done: no loop over fields */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    point *p = malloc((size_t)n * sizeof *p);
    for (int i = 0; i < n; i++)
        p[i].value = draw() % 100, p[i].rate = draw() % 9;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @fields_alike
            p[a[e]].rate += p[b[e]].value;
        for (int i = 0; i < n; i++) {
            p[i].value += t;
            p[i].rate += t;
        }
    }
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum = sum * 31 + p[i].value + 7 * p[i].rate;
    printf("fields_alike %ld\n", sum);
}

SHAPE field_by_field(int n) /* one field of two points after the other */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *p = longs(3 * n, 100), *w = longs(n, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @field_by_field
            for (int c = 0; c < 3; c++)
                p[3 * a[e] + c] += w[b[e]] + c;
        for (int c = 0; c < 3; c++)
            for (int i = 0; i < n; i += 2) {
                p[3 * i + c] &= 1023;
                p[3 * (i + 1) + c] &= 1023;
            }
        for (int i = 0; i < n; i++)
            w[i] = p[3 * i] & 7;
    }
    show("field_by_field", p, 3 * n);
}

SHAPE from_one(int n) /* as translated from Fortran */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n, 100), *y = longs(n, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @from_one
            y[a[e]] += x[b[e]];
        long *u = x - 1, *v = y - 1;
        int m = n % 3;
        for (int i = 1; i <= m; i++)
            u[i] += v[i] & 3;
        for (int i = m + 1; i <= n; i += 3) {
            u[i] += v[i] & 3;
            u[i + 1] += v[i + 1] & 3;
            u[i + 2] += v[i + 2] & 3;
        }
    }
    show("from_one", x, n);
}

SHAPE flat_six(int n) /* over numbers of which three are a record */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(3 * n, 100), *y = longs(3 * n + 1, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @flat_six
            for (int c = 0; c < 3; c++)
                y[3 * a[e] + c] += x[3 * b[e] + 2 - c] + c;
        for (int i = 0; i < 3 * n; i += 6) {
            x[i] += y[i] & 1, x[i + 1] += y[i + 1] & 1, x[i + 2] += y[i + 2] & 1;
            x[i + 3] += y[i + 3] & 1, x[i + 4] += y[i + 4] & 1, x[i + 5] += y[i + 5] & 1;
        }
    }
    show("flat_six", x, 3 * n);
}

SHAPE flat_four(int n) /* what is left over is a part of a record */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n), i;
    long *x = longs(3 * n, 100), *y = longs(3 * n + 1, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @flat_four
            for (int c = 0; c < 3; c++)
                y[3 * a[e] + c] += x[3 * b[e] + 2 - c] + c;
        for (i = 0; i < 3 * n - 3; i += 4)
            x[i] += y[i] & 1, x[i + 1] += y[i + 1] & 1, x[i + 2] += y[i + 2] & 1, x[i + 3] += y[i + 3] & 1;
        for (; i < 3 * n; i++)
            x[i] += y[i] & 1;
    }
    show("flat_four", x, 3 * n);
}

SHAPE unlike(int n) /* one of four does something else */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n, 100), *y = longs(n, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @unlike
            y[a[e]] += x[b[e]];
        for (int i = 0; i < n; i += 4) {
            x[i] += y[i] & 1;
            x[i + 1] += y[i + 1] & 1;
            x[i + 2] += y[i + 2] & 3;
            x[i + 3] += y[i + 3] & 1;
        }
    }
    show("unlike", x, n);
}

SHAPE neighbour(int n) /* each takes what the one before it has left */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n + 1, 100), *y = longs(n + 1, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @neighbour
            y[a[e]] += x[b[e]];
        for (int i = 0; i < n; i += 2) {
            x[i + 1] = x[i] / 2 + y[i];
            x[i + 2] = x[i + 1] / 2 + y[i + 1];
        }
    }
    show("neighbour", x, n);
}

SHAPE shifted(int n) /* from the next record, of an array that moves alike */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n + 1, 100), *y = longs(n + 2, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @shifted
            y[a[e]] += x[b[e]] + x[a[e]];
        for (int i = 0; i < n; i += 2) {
            x[i] = y[i + 1] & 15;
            x[i + 1] = y[i + 2] & 15;
        }
    }
    show("shifted", x, n);
}

SHAPE turned(int n) /* two change places */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n, 100), *y = longs(n, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @turned
            y[a[e]] += x[b[e]];
        for (int i = 0; i < n; i += 2) {
            long kept = y[i];
            x[i] += y[i + 1];
            x[i + 1] += kept;
        }
    }
    show("turned", x, n);
}

SHAPE signs(int n) /* one is added, the other taken away */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n, 100), *y = longs(n + 1, 100), sum = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @signs
            y[a[e]] += x[b[e]] + (sum & 1);
        for (int i = 0; i < n; i += 2)
            sum += x[i] - x[i + 1];
    }
    show("signs", y, n);
}

SHAPE squares(int n) /* of the sum of two */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n);
    long *x = longs(n, 100), *y = longs(n + 1, 100), sum = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @squares
            y[a[e]] += x[b[e]] + (sum & 1);
        for (int i = 0; i < n; i += 2)
            sum += (x[i] + x[i + 1]) * (x[i] + x[i + 1]);
    }
    show("squares", y, n);
}

SHAPE two_counts(int n) /* records of two arrays, of one of them by twos */
{
    int *a = ints(JOBS, n), *b = ints(JOBS, n / 2);
    long *x = longs(n / 2, 100), *y = longs(n, 100);
    for (int t = 0; t < SWEEPS; t++) {
        for (int e = 0; e < JOBS; e++) // @two_counts
            y[a[e]] += x[b[e]];
        for (int i = 0; i < n / 2; i++) {
            y[2 * i] &= 255;
            y[2 * i + 1] &= 255;
            x[i] += 1;
        }
    }
    show("two_counts", y, n);
}

int main(void)
{
    update_four(DATA - 1), sum_five(DATA - 2), take_away_two(DATA), points_two(DATA), fields_alike(DATA);
    field_by_field(DATA), from_one(DATA - 3), flat_six(DATA);
    unlike(DATA), neighbour(DATA), shifted(DATA), turned(DATA), signs(DATA), squares(DATA), two_counts(DATA);
    flat_four(DATA - 1);
    return 0;
}
