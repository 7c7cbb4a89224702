/* Records that hold the numbers of others of their kind. */
struct point { long now, next; short count; int near[6]; };

static struct point *points(void)
{
    struct point *p = calloc(DATA, sizeof *p);
    for (int v = 0; v < DATA; v++) {
        p[v].now = draw() % 50;
        p[v].count = (short)(draw() % 7);
        for (int k = 0; k < 6; k++)
            p[v].near[k] = (int)(draw() % DATA);
    }
    return p;
}

static void show_points(const char *name, const struct point *p)
{
    unsigned long sum = 0;
    for (int v = 0; v < DATA; v++) {
        sum = sum * 31 + (unsigned long)p[v].now;
        for (int k = 0; k < 6; k++)
            sum = sum * 31 + (unsigned long)p[v].near[k];
    }
    printf("%s %lu\n", name, sum);
}

SHAPE near(void)
{
    struct point *p = points();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @near
            long sum = 0;
            for (int k = 0; k < p[v].count; k++)
                sum += p[p[v].near[k]].now;
            p[v].next = sum;
        }
        for (int v = 0; v < DATA; v++)
            p[v].now += p[v].next & 7;
    }
    show_points("near", p);
}

struct pair { int a, b; long value, flow; };

SHAPE both_ends(void)
{
    struct pair *p = calloc(DATA, sizeof *p);
    long *height = longs(DATA, 100);
    for (int v = 0; v < DATA; v++)
        p[v] = (struct pair){(int)(draw() % DATA), (int)(draw() % DATA), draw() % 90, 0};
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @both_ends
            p[v].flow += (p[p[v].a].value - p[p[v].b].value) * height[p[v].a];
        for (int v = 0; v < DATA; v++) {
            p[v].value ^= p[v].flow & 3;
            height[v]++;
        }
    }
    long sum = 0;
    for (int v = 0; v < DATA; v++)
        sum = sum * 31 + p[v].flow + p[v].a - p[v].b;
    printf("both_ends %ld\n", sum);
}

struct leaf { unsigned short near[4]; float weight; };

SHAPE only_read(void)
{
    struct leaf *leaf = calloc(DATA, sizeof *leaf);
    long *out = calloc(DATA, sizeof *out);
    for (int v = 0; v < DATA; v++) {
        leaf[v].weight = (float)(draw() % 9);
        for (int k = 0; k < 4; k++)
            leaf[v].near[k] = (unsigned short)(draw() % DATA);
    }
    for (int t = 0; t < SWEEPS; t++)
        for (int v = 0; v < DATA; v++) { // @only_read
            long sum = 0;
            for (int k = 0; k < 4; k++)
                sum += (long)leaf[leaf[v].near[k]].weight;
            out[v] += sum * (t + 1);
        }
    show("only_read", out, DATA);
}

SHAPE numbers_count(void)
{
    struct point *p = points();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @numbers_count
            long sum = 0;
            for (int k = 0; k < p[v].count; k++)
                sum += p[p[v].near[k]].now + p[v].near[k];
            p[v].next = sum;
        }
        for (int v = 0; v < DATA; v++)
            p[v].now += p[v].next & 7;
    }
    show_points("numbers_count", p);
}

SHAPE read_beside(void)
{
    struct point *p = points();
    long total = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @read_beside
            long sum = 0;
            for (int k = 0; k < p[v].count; k++)
                sum += p[p[v].near[k]].now;
            p[v].next = sum;
        }
        for (int v = 0; v < DATA; v++)
            p[v].now += (p[v].next & 7) + (p[v].near[0] & 1);
        total += p[3].near[1];
    }
    show_points("read_beside", p);
    printf("read_beside %ld\n", total);
}

SHAPE kept_whole(void)
{
    struct point *p = points(), *before = calloc(DATA, sizeof *before);
    for (int t = 0; t < SWEEPS; t++) {
        memcpy(before, p, DATA * sizeof *p);
        for (int v = 0; v < DATA; v++) { // @kept_whole
            long sum = before[v].now;
            for (int k = 0; k < p[v].count; k++)
                sum += p[p[v].near[k]].now;
            p[v].next = sum;
        }
        for (int v = 0; v < DATA; v++)
            p[v].now += p[v].next & 7;
    }
    show_points("kept_whole", p);
    show_points("kept_whole", before);
}

struct chain { int next; int jumps; long now, then; };

SHAPE one_after_another(void)
{
    struct chain *c = calloc(DATA, sizeof *c);
    for (int v = 0; v < DATA; v++)
        c[v] = (struct chain){(int)(draw() % DATA), (int)(draw() % 3), draw() % 60, 0};
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @one_after_another
            c[v].then = c[c[v].next].now + c[c[c[v].next].next].now * c[v].jumps;
        for (int v = 0; v < DATA; v++)
            c[v].now ^= c[v].then & 15;
    }
    long sum = 0;
    for (int v = 0; v < DATA; v++)
        sum = sum * 31 + c[v].now + c[v].next;
    printf("one_after_another %ld\n", sum);
}

int main(void)
{
    near();
    both_ends();
    only_read();
    numbers_count();
    read_beside();
    kept_whole();
    one_after_another();
    return 0;
}
