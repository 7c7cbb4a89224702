/* Records that say where their piece of other arrays begins, and how long it is, beside numbers that are written. */
struct node { long now, next; int first, count; };
struct edge { int to; short weight; };

static int total_;

static struct node *nodes(int most, int overlap)
{
    struct node *p = calloc(DATA, sizeof *p);
    int *at = ints(DATA, 1 << 20);
    total_ = 0;
    for (int v = 0; v < DATA; v++) { /* pieces lie in another order than their nodes */
        int u = (int)(((long)v * 77 + 5) % DATA);
        p[u].now = at[v] % 50;
        p[u].count = at[v] / 50 % (most + 1);
        p[u].first = p[u].count ? total_ : -9; /* nobody asks where nothing begins */
        total_ += p[u].count;
        p[u].count += p[u].count ? overlap : 0;
    }
    total_++;
    free(at);
    return p;
}

static struct edge *edges(void)
{
    struct edge *e = calloc((size_t)total_, sizeof *e);
    for (int k = 0; k < total_; k++)
        e[k] = (struct edge){(int)(draw() % DATA), (short)(draw() % 9)};
    return e;
}

static void show_nodes(const char *name, const struct node *p)
{
    unsigned long sum = 0;
    for (int v = 0; v < DATA; v++)
        sum = (sum * 31 + (unsigned long)p[v].now) * 31 + (unsigned long)p[v].first;
    printf("%s %lu\n", name, sum);
}

static long gathered(const struct node *p, const struct edge *e, int v)
{
    long sum = 0;
    for (int k = 0; k < p[v].count; k++)
        sum += e[p[v].first + k].weight * p[e[p[v].first + k].to].now;
    return sum;
}

static void settle(struct node *p)
{
    for (int v = 0; v < DATA; v++)
        p[v].now += p[v].next & 7;
}

SHAPE in_records(void)
{
    struct node *p = nodes(5, 0);
    struct edge *e = edges();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @in_records
            p[v].next = gathered(p, e, v);
        settle(p);
        if (t == 1)
            fprintf(stdout, "half %d\n", t);
    }
    show_nodes("in_records", p);
}

SHAPE in_arrays(void) /* one of them holds indices, the other one numbers; the loops run over unlike parts */
{
    struct node *p = nodes(6, 0);
    int *to = ints(total_, DATA);
    long *weight = longs(total_, 90);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @in_arrays
            long sum = 0;
            for (int k = 0; k < p[v].count; k++)
                sum += weight[p[v].first + k] * p[to[p[v].first + k]].now;
            p[v].next = sum;
        }
        for (int v = 0; v < DATA; v++) { // @in_part
            long sum = p[v].next;
            for (int k = 0; k < p[v].count / 2; k++)
                sum ^= weight[p[v].first + k];
            p[v].now += sum & 7;
        }
    }
    show_nodes("in_arrays", p);
}

SHAPE in_common(void) /* nodes with the same piece */
{
    struct node *p = nodes(4, 0);
    struct edge *e = edges();
    for (int v = 0; v + 1 < DATA; v += 3) {
        p[v].first = p[v + 1].first;
        p[v].count = p[v + 1].count;
    }
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @in_common
            p[v].next = gathered(p, e, v);
        settle(p);
    }
    show_nodes("in_common", p);
}

SHAPE by_pointers(void) /* from one pointer to another: not their numbers, but how far they are apart is told */
{
    struct node *p = nodes(5, 0);
    struct edge *e = edges();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @by_pointers
            const struct edge *own = e + p[v].first, *end = own + p[v].count;
            long sum = 0;
            for (; own < end; own++)
                sum += own->weight * p[own->to].now;
            p[v].next = sum;
        }
        settle(p);
    }
    show_nodes("by_pointers", p);
}

SHAPE overlapping(void)
{
    struct node *p = nodes(5, 1);
    struct edge *e = edges();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @overlapping
            p[v].next = gathered(p, e, v);
        settle(p);
    }
    show_nodes("overlapping", p);
}

SHAPE counted(void) /* a start is a number of its own, too */
{
    struct node *p = nodes(5, 0);
    struct edge *e = edges();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @counted
            long sum = p[v].first;
            for (int k = 0; k < p[v].count; k++)
                sum += e[p[v].first + k].weight * p[e[p[v].first + k].to].now;
            p[v].next = sum;
        }
        settle(p);
    }
    show_nodes("counted", p);
}

SHAPE walked(void) /* a loop beside the region runs over the pieces by the same starts */
{
    struct node *p = nodes(5, 0);
    struct edge *e = edges();
    long all = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @walked
            p[v].next = gathered(p, e, v);
        settle(p);
        for (int k = 0; k < p[7].count; k++)
            all += e[p[7].first + k].weight;
    }
    show_nodes("walked", p);
    printf("walked %ld\n", all);
}

struct span { int first, count; };

SHAPE only_told(void) /* records of nothing but starts and lengths, which are only read */
{
    struct node *p = nodes(5, 0);
    struct span *s = calloc(DATA, sizeof *s);
    struct edge *e = edges();
    long *out = calloc(DATA, sizeof *out), *now = longs(DATA, 70);
    for (int v = 0; v < DATA; v++)
        s[v] = (struct span){p[v].first, p[v].count};
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @only_told
            long sum = 0;
            for (int k = 0; k < s[v].count; k++)
                sum += e[s[v].first + k].weight * now[e[s[v].first + k].to];
            out[v] += sum * (t + 1);
        }
    show("only_told", out, DATA);
}

struct flow { int to; short part[3]; };

SHAPE in_parts(void) /* a loop over the fields of each record of a piece */
{
    struct node *p = nodes(5, 0);
    struct flow *e = calloc((size_t)total_, sizeof *e);
    for (int k = 0; k < total_; k++)
        e[k] = (struct flow){(int)(draw() % DATA), {(short)(draw() % 9), (short)(draw() % 5), (short)(draw() % 3)}};
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @in_parts
            long sum = 0;
            for (int k = 0; k < p[v].count; k++)
                for (int c = 0; c < 3; c++)
                    sum += (c + 1) * e[p[v].first + k].part[c] * p[e[p[v].first + k].to].now;
            p[v].next = sum;
        }
        settle(p);
    }
    show_nodes("in_parts", p);
}

int main(void)
{
    in_parts();
    only_told();
    in_records();
    in_arrays();
    in_common();
    by_pointers();
    overlapping();
    counted();
    walked();
    return 0;
}
