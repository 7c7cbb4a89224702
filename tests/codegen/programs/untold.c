/* Inner loops that go on as long as what they compute says: nothing tells how often, and no place depends on it. */

/* A step of Newton's method, in memory: the state of an iteration's own, and what its neighbours keep. */
SHAPE newton(const int *row, const int *col, const double *x, double *state, double *y, int n)
{
    for (int v = 0; v < n; v++) { // @newton
        double step;
        do {
            double sum = 0.3;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += 0.01 * x[col[k]] / (1 + state[v] * state[v]);
            step = sum - state[v];
            state[v] += 0.5 * step;
        } while (fabs(step) > 1e-6);
        y[v] = state[v] + x[v];
    }
}

/* Updates of both ends in each round; some iterations make none. */
SHAPE rounds(const int *from, const int *to, const int *load, long *sum, long *count, int n)
{
    for (int e = 0; e < n; e++) { // @rounds
        for (int left = load[e]; left % 5; left = (left * 3 + 1) & 1023) {
            sum[from[e]] += left;
            sum[to[e]] -= left;
        }
        count[from[e]]++;
    }
}

/* Drawn from the iteration's own generator: how often, and when to stop. */
SHAPE draws(const int *row, const int *col, const int *ill, unsigned *seed, int *next, int n)
{
    for (int v = 0; v < n; v++) { // @draws
        int met = 0, caught = ill[v];
        for (int k = row[v]; k < row[v + 1]; k++)
            met += ill[col[k]];
        for (int i = 0; i < met; i++) {
            seed[v] = seed[v] * 1103515245u + 12345u;
            if (seed[v] >> 28 < 5) {
                caught = 1;
                break;
            }
        }
        next[v] = caught;
    }
}

/* A search for each round, and marks that it does not matter to set again. */
SHAPE searched(const int *row, const int *col, const int *key, int *mark, long *found, int n)
{
    for (int v = 0; v < n; v++) { // @searched
        long rest = key[v], all = 0;
        while (rest > 3) {
            int k = row[v];
            for (; k < row[v + 1]; k++)
                if (key[col[k]] > 40)
                    break;
            all += k - row[v];
            if (rest & 1 && k < row[v + 1])
                mark[col[k]] = 1;
            rest = rest * 5 / 7;
        }
        found[v] = all;
    }
}

/* Beside a loop over an index in one sweep: each cell by itself. */
SHAPE surfaces(const int *from, const int *to, long *x, long *flux, long *tries, int faces, int cells)
{
    for (int t = 0; t < SWEEPS; t++) { // @sweeps
        for (int e = 0; e < faces; e++) { // @faces
            long difference = x[from[e]] - x[to[e]];
            flux[from[e]] -= difference;
            flux[to[e]] += difference;
        }
        for (int v = 0; v < cells; v++) { // @cells
            long aim = x[v] + flux[v] / 16;
            while (x[v] != aim) {
                x[v] += (aim - x[v]) / 2 ? (aim - x[v]) / 2 : aim - x[v];
                tries[v]++;
            }
            flux[v] = 0;
        }
    }
}

/* Near miss: what a round reads is where the one before has led. */
SHAPE walk(const int *next, long *seen, const int *load, int n)
{
    for (int v = 0; v < n; v++) { // @walk
        int at = v, left = load[v];
        while (left > 7) {
            seen[at] = left;
            at = next[at];
            left = left * 3 / 5;
        }
    }
}

/* Near miss: the rounds are counted, and take one place after the other. */
SHAPE counted(const int *first, long *log, const int *load, int n)
{
    for (int v = 0; v < n; v++) { // @counted
        int i = 0;
        for (int left = load[v]; left > 7; left = left * 3 / 5)
            log[first[v] + i++] = left;
    }
}

/* Near miss: neighbours are read while they change. */
SHAPE relaxed(const int *row, const int *col, double *x, int n)
{
    for (int v = 0; v < n; v++) { // @relaxed
        double step;
        do {
            double sum = 1;
            for (int k = row[v]; k < row[v + 1]; k++)
                sum += 0.05 * x[col[k]];
            step = sum - x[v];
            x[v] += 0.5 * step;
        } while (fabs(step) > 1e-6);
    }
}

/* Near miss: where an iteration makes no round, it reads what another one has left. */
SHAPE kept(const int *from, const int *load, long *last, long *y, int n)
{
    for (int e = 0; e < n; e++) { // @kept
        for (int left = load[e]; left % 5; left = (left * 3 + 1) & 1023)
            last[0] = left;
        y[from[e]] += last[0];
    }
}

/* Near miss: marks of several kinds. */
SHAPE numbered(const int *from, const int *load, int *mark, int n)
{
    for (int e = 0; e < n; e++) { // @numbered
        int round = 0;
        for (int left = load[e]; left % 5; left = (left * 3 + 1) & 1023)
            mark[from[e]] = ++round;
    }
}

/* Near miss: all iterations draw from one generator. */
SHAPE one_generator(const int *from, long *y, int n)
{
    for (int e = 0; e < n; e++) { // @one_generator
        long tries = 0;
        while (rand() % 4)
            tries++;
        y[from[e]] += tries;
    }
}

int main(void)
{
    int *row = offsets(DATA, 6), *full = offsets(DATA, 6), *col = ints(row[DATA] + full[DATA] + DATA, DATA);
    int *from = ints(JOBS, DATA), *to = ints(JOBS, DATA);
    int *load = ints(JOBS, 500), *key = ints(DATA, 50), *next = permutation(DATA), *ill = ints(DATA, 2);
    int *after = ints(DATA, 2), *mark = calloc(DATA, sizeof *mark), *places = ints(DATA, DATA);
    double *x = reals(DATA, 10), *state = reals(DATA, 2), *y = calloc(DATA, sizeof *y);
    long *sum = calloc(DATA, sizeof *sum), *count = calloc(DATA, sizeof *count), *found = calloc(DATA, sizeof *found);
    long *cell = longs(DATA, 5000), *flux = calloc(DATA, sizeof *flux), *tries = calloc(DATA, sizeof *tries);
    long *log = calloc(2 * DATA, sizeof *log), *last = calloc(1, sizeof *last);
    unsigned *seed = malloc(DATA * sizeof *seed);
    for (int i = 0; i < DATA; i++)
        seed[i] = draw();
    for (int i = 0; i <= DATA; i++)
        full[i] += i; /* no row is empty */
    for (int t = 0; t < SWEEPS; t++) {
        newton(row, col, x, state, y, DATA);
        show_reals("newton", y, DATA);
        rounds(from, to, load, sum, count, JOBS);
        show("sum", sum, DATA), show("count", count, DATA);
        draws(full, col, ill, seed, after, DATA);
        show_ints("draws", after, DATA);
        memcpy(ill, after, DATA * sizeof *ill);
        searched(row, col, key, mark, found, DATA);
        show_ints("mark", mark, DATA), show("searched", found, DATA);
        surfaces(from, to, cell, flux, tries, JOBS, DATA);
        show("cells", cell, DATA), show("tries", tries, DATA);
        walk(next, found, load, DATA);
        counted(places, log, load, DATA);
        show("walk", found, DATA), show("counted", log, DATA);
        relaxed(row, col, state, DATA);
        show_reals("relaxed", state, DATA);
        kept(from, load, last, tries, JOBS);
        numbered(from, load, mark, JOBS);
        one_generator(from, tries, JOBS);
        show("kept", tries, DATA), show_ints("numbered", mark, DATA);
    }
    return 0;
}
