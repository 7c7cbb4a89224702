
/* Tries orders of the iterations of one kernel, and compares what they leave behind. */
struct search {
    int number, jobs, rounding;
    const struct part *parts;
    size_t count;
    char **first, **right; /* contents of the parts before and after the loop */
    int *order;
    long tried, last; /* orders up to now; the greatest number of them, -1: all */
    const char *verdict;
    unsigned long long state;
    int part, element; /* where the difference was */
};

#define ALL 8 /* all orders of up to so many iterations */
#define RANDOM 200

static char **copy_of(const struct search *s)
{
    char **copy = allocate(s->count * sizeof *copy);
    for (size_t p = 0; p < s->count; p++) {
        size_t size = size_of(s->parts[p].type);
        copy[p] = allocate((size_t)s->parts[p].count * size);
        for (int e = 0; e < s->parts[p].count; e++)
            memcpy(copy[p] + (size_t)e * size, element(&s->parts[p], e), size);
    }
    return copy;
}

static void restore(const struct search *s)
{
    for (size_t p = 0; p < s->count; p++) {
        size_t size = size_of(s->parts[p].type);
        if (size == s->parts[p].stride)
            memcpy(s->parts[p].base, s->first[p], (size_t)s->parts[p].count * size);
        else
            for (int e = 0; e < s->parts[p].count; e++)
                memcpy(element(&s->parts[p], e), s->first[p] + (size_t)e * size, size);
    }
}

/* Numbers agree up to rounding, relative to the greatest of their array, or bit by bit. */
static int agrees(struct search *s)
{
    for (size_t p = 0; p < s->count; p++) {
        const struct part *now = &s->parts[p];
        size_t size = size_of(now->type);
        struct part was = {s->right[p], size, now->count, now->type};
        int loose = s->rounding && is_real(now);
        double most = 1;
        for (int e = 0; loose && e < now->count; e++)
            most = fabs(real_of(&was, e)) > most ? fabs(real_of(&was, e)) : most;
        if (!loose && size == now->stride && memcmp(now->base, was.base, (size_t)now->count * size) == 0)
            continue;
        for (int e = 0; e < now->count; e++) {
            if (memcmp(element(now, e), element(&was, e), size) == 0)
                continue;
            if (loose && fabs(real_of(now, e) - real_of(&was, e)) <= most * (now->type == 'd' ? 1e-9 : 2e-5))
                continue;
            s->part = (int)p;
            s->element = e;
            return 0;
        }
    }
    return 1;
}

static struct search begin(int number, int jobs, int rounding, const struct part *parts, size_t count)
{
    struct search s = {.number = number, .jobs = jobs, .rounding = rounding, .parts = parts, .count = count};
    s.order = allocate((size_t)jobs * sizeof(int));
    s.state = (unsigned long long)number;
    s.first = copy_of(&s);
    s.last = jobs <= ALL ? -1 : 4 + 3 * jobs + RANDOM;
    return s;
}

/* The loop itself has run: what it left is right. */
static void keep(struct search *s) { s->right = copy_of(s); }

static void exchange(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}

static void turn_around(int *from, int *to)
{
    while (from < to)
        exchange(from++, --to);
}

static int next_permutation(int *order, int n)
{
    int k = n - 2, j = n - 1;
    while (k >= 0 && order[k] > order[k + 1])
        k--;
    if (k < 0)
        return 0;
    while (order[j] < order[k])
        j--;
    exchange(&order[k], &order[j]);
    turn_around(order + k + 1, order + n);
    return 1;
}

/* Move the element at `from` to `to`. */
static void move(int *order, int from, int to)
{
    for (; from < to; from++)
        exchange(&order[from], &order[from + 1]);
    for (; from > to; from--)
        exchange(&order[from], &order[from - 1]);
}

/* Order number `at`: as written, reversed, rotated, neighbours exchanged, one moved to an end, random. */
static void pick_order(struct search *s, long at)
{
    int n = s->jobs;
    for (int k = 0; k < n; k++)
        s->order[k] = k;
    if (at == 0)
        return;
    if (at == 1)
        turn_around(s->order, s->order + n);
    else if (at == 2)
        move(s->order, 0, n - 1);
    else if (at == 3)
        for (int k = 0; k < n; k++)
            s->order[k] = (k + n / 2) % n;
    else if (at < 3 + n)
        exchange(&s->order[at - 4], &s->order[at - 3]);
    else if (at < 3 + 2 * n)
        move(s->order, (int)at - 3 - n, 0);
    else if (at < 3 + 3 * n)
        move(s->order, (int)at - 3 - 2 * n, n - 1);
    else
        for (int k = n - 1; k > 0; k--)
            exchange(&s->order[k], &s->order[next_random(&s->state) % (unsigned long long)(k + 1)]);
}

/* Judge the order that has just run, and prepare the next one. 0: done. */
static int next_order(struct search *s)
{
    if (s->tried > 0 && !agrees(s)) {
        s->verdict = s->tried == 1 ? "broken" : "no";
        return 0;
    }
    if (s->tried == 0 || s->last >= 0)
        pick_order(s, s->tried);
    else if (!next_permutation(s->order, s->jobs))
        s->verdict = "yes";
    if (s->last >= 0 && s->tried >= s->last)
        s->verdict = "yes";
    if (s->verdict != NULL)
        return 0;
    s->tried++;
    restore(s);
    return 1;
}

static void report(struct search *s)
{
    printf("kernel_%d %s", s->number, s->verdict);
    if (strcmp(s->verdict, "yes") == 0)
        printf(" %s %ld orders agree\n", s->last < 0 ? "all" : "", s->tried);
    else {
        printf(" part %d[%d] differs after", s->part, s->element);
        for (int k = 0; k < s->jobs; k++)
            printf(" %d", s->order[k]);
        printf("\n");
    }
    for (size_t p = 0; p < s->count; p++) {
        free(s->first[p]);
        free(s->right[p]);
    }
    free(s->first);
    free(s->right);
    free(s->order);
}
