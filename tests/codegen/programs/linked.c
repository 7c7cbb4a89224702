/* Pointers to the records of an array that is reached by number, too. */
typedef struct Node {
    long x, fx, mass, id;
} Node;

typedef struct {
    Node *a, *b;
    long k;
} Spring;

static Node *nodes_(void)
{
    Node *nodes = malloc(DATA * sizeof *nodes);
    for (int v = 0; v < DATA; v++)
        nodes[v] = (Node){draw() % 100, 0, 1 + draw() % 3, v};
    return nodes;
}

static Spring *springs_(Node *nodes)
{
    Spring *springs = malloc(JOBS * sizeof *springs);
    for (int k = 0; k < JOBS; k++)
        springs[k] = (Spring){nodes + draw() % DATA, nodes + draw() % DATA, draw() % 5};
    return springs;
}

static void move(Node *nodes)
{
    for (int v = 0; v < DATA; v++)
        nodes[v].x += nodes[v].fx & 7, nodes[v].fx = 0;
}

static void show_nodes(const char *name, const Node *nodes)
{
    long *x = malloc(DATA * sizeof *x);
    for (int v = 0; v < DATA; v++)
        x[v] = nodes[v].x + 3 * nodes[v].fx;
    show(name, x, DATA);
}

SHAPE springs(void)
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @springs
            Node *a = s[k].a, *b = s[k].b;
            long f = s[k].k * (b->x - a->x);
            a->fx += f, b->fx -= f;
        }
        move(nodes);
    }
    show_nodes("springs", nodes);
}

SHAPE triangles(void) /* and springs: two tables of pointers to the same nodes */
{
    Node *nodes = nodes_(), *(*corner)[3] = malloc(JOBS * sizeof *corner);
    Spring *s = springs_(nodes);
    for (int k = 0; k < JOBS; k++)
        for (int d = 0; d < 3; d++)
            corner[k][d] = nodes + draw() % DATA;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @triangles
            long c = 0;
            for (int d = 0; d < 3; d++)
                c += corner[k][d]->x;
            for (int d = 0; d < 3; d++)
                corner[k][d]->fx += c & 15;
        }
        for (int k = 0; k < JOBS; k++)
            s[k].a->fx += s[k].b->x & s[k].k;
        move(nodes);
    }
    show_nodes("triangles", nodes);
}

SHAPE members(void) /* pointers to members of the records */
{
    Node *nodes = nodes_();
    long **mass = malloc(JOBS * sizeof *mass), *y = longs(JOBS, 9);
    for (int k = 0; k < JOBS; k++)
        mass[k] = &nodes[draw() % DATA].x;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @members
            y[k] += *mass[k];
        for (int v = 0; v < DATA; v++)
            nodes[v].x += 1 + (y[v] & 3);
    }
    show("members", y, JOBS);
}

SHAPE from_the_second(void) /* the first record is led to by none */
{
    Node *nodes = nodes_(), **some = malloc(JOBS * sizeof *some);
    long *y = longs(JOBS, 9);
    for (int k = 0; k < JOBS; k++)
        some[k] = nodes + 1 + draw() % (DATA - 1);
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @from_the_second
            y[k] += some[k]->x * some[k]->mass;
        for (int v = 0; v < DATA; v++)
            nodes[v].x += 1 + (y[v] & 3);
    }
    show("from_the_second", y, JOBS);
}

SHAPE with_loops(void) /* springs from a node to itself do nothing */
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    for (int k = 0; k < JOBS; k += 50)
        s[k].b = s[k].a;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @with_loops
            if (s[k].a != s[k].b)
                s[k].a->fx += s[k].b->x & s[k].k;
        move(nodes);
    }
    show_nodes("with_loops", nodes);
}

SHAPE upwards(void) /* which of two comes first is data */
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @upwards
            if (s[k].a < s[k].b)
                s[k].a->fx += s[k].b->x & s[k].k;
        move(nodes);
    }
    show_nodes("upwards", nodes);
}

SHAPE apart(void) /* how far they are from each other is data */
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    long *y = longs(JOBS, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @apart
            y[k] += (s[k].b - s[k].a) * s[k].b->x;
        for (int v = 0; v < DATA; v++)
            nodes[v].x += 1 + (y[v] & 3);
    }
    show("apart", y, JOBS);
}

SHAPE some_null(void)
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    for (int k = 0; k < JOBS; k += 7)
        s[k].b = NULL;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @some_null
            if (s[k].b)
                s[k].a->fx += s[k].b->x & s[k].k;
        move(nodes);
    }
    show_nodes("some_null", nodes);
}

SHAPE two_arrays(void) /* some of the pointers lead to another array */
{
    Node *nodes = nodes_(), *others = nodes_();
    Spring *s = springs_(nodes);
    for (int k = 0; k < JOBS; k += 7)
        s[k].b = others + draw() % DATA;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @two_arrays
            s[k].a->fx += s[k].b->x & s[k].k;
        move(nodes);
    }
    show_nodes("two_arrays", nodes);
}

SHAPE beside(void) /* a loop that runs as it is follows the pointers */
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    long total = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @beside
            Node *a = s[k].a, *b = s[k].b;
            long f = s[k].k * (b->x - a->x);
            a->fx += f, b->fx -= f;
        }
        for (int k = 0; k < JOBS; k++)
            total = total * 3 + (s[k].a->fx ^ s[k].b->x);
        move(nodes);
    }
    nodes[0].x += total & 1023;
    show_nodes("beside", nodes);
}

SHAPE written_beside(void)
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    long seen = 1;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @written_beside
            Node *a = s[k].a, *b = s[k].b;
            long f = s[k].k * (b->x - a->x);
            a->fx += f, b->fx -= f;
        }
        for (int k = 0; k < JOBS; k++) {
            seen = seen * 3 + s[k].a->x;
            s[k].b->fx ^= seen & 255;
        }
        move(nodes);
    }
    show_nodes("written_beside", nodes);
}

typedef struct Cell {
    long x, next;
    struct Cell *near[3];
} Cell;

SHAPE cells(void) /* the records themselves hold the pointers */
{
    Cell *c = malloc(DATA * sizeof *c);
    for (int v = 0; v < DATA; v++) {
        c[v].x = draw() % 100;
        for (int d = 0; d < 3; d++)
            c[v].near[d] = c + draw() % DATA;
    }
    long *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) // @cells
            c[v].next = c[v].near[0]->x + c[v].near[1]->x + c[v].near[2]->x;
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3, y[v] += c[v].x;
    }
    show("cells", y, DATA);
}

SHAPE rewired(void) /* a pointer changes in the scope */
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @rewired
            Node *a = s[k].a, *b = s[k].b;
            long f = s[k].k * (b->x - a->x);
            a->fx += f, b->fx -= f;
        }
        s[t].a = nodes + t;
        move(nodes);
    }
    show_nodes("rewired", nodes);
}

SHAPE sought_beside(void) /* a loop that nobody counts follows them */
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    long total = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @sought_beside
            Node *a = s[k].a, *b = s[k].b;
            long f = s[k].k * (b->x - a->x);
            a->fx += f, b->fx -= f;
        }
        int k = 0;
        while (k < JOBS && s[k].a->x != 99 - t)
            total += s[k].b->fx, k++;
        if (k < JOBS)
            s[k].b->x++;
        move(nodes);
    }
    nodes[0].x += total & 1023;
    show_nodes("sought_beside", nodes);
}

SHAPE cells_summed(void) /* by number, and by the pointers in the records */
{
    Cell *c = malloc(DATA * sizeof *c);
    int *at = ints(JOBS, DATA);
    for (int v = 0; v < DATA; v++) {
        c[v].x = draw() % 100, c[v].next = 0;
        for (int d = 0; d < 3; d++)
            c[v].near[d] = c + draw() % DATA;
    }
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) // @cells_summed
            c[at[k]].next += c[at[k]].near[1]->x;
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3;
    }
    long *y = longs(DATA, 9);
    for (int v = 0; v < DATA; v++)
        y[v] += c[v].x;
    show("cells_summed", y, DATA);
}

SHAPE cells_counted(void) /* a record holds up to five pointers, and how many */
{
    typedef struct Vertex {
        long x, next;
        struct Vertex *near[5];
        int many;
    } Vertex;
    Vertex *c = calloc(DATA, sizeof *c);
    for (int v = 0; v < DATA; v++) {
        c[v].x = draw() % 100, c[v].many = (int)(draw() % 6);
        for (int d = 0; d < c[v].many; d++)
            c[v].near[d] = c + draw() % DATA;
    }
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @cells_counted
            long s = 0;
            for (int d = 0; d < c[v].many; d++)
                s += c[v].near[d]->x;
            c[v].next = s;
        }
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3;
    }
    long *y = longs(DATA, 9);
    for (int v = 0; v < DATA; v++)
        y[v] += c[v].x;
    show("cells_counted", y, DATA);
}

typedef struct Vertex {
    long x, next;
    struct Vertex **near, **end;
} Vertex;

static Vertex *vertices_(void)
{
    Vertex *c = calloc(DATA, sizeof *c);
    for (int v = 0; v < DATA; v++) {
        long many = draw() % 6;
        c[v].x = draw() % 100;
        c[v].near = malloc((size_t)(many + v % 3 + 1) * sizeof *c[v].near);
        c[v].end = c[v].near + many;
        for (long d = 0; d < many; d++)
            c[v].near[d] = c + draw() % DATA;
    }
    return c;
}

static void show_vertices(const char *name, const Vertex *c)
{
    long *y = longs(DATA, 9);
    for (int v = 0; v < DATA; v++)
        y[v] += c[v].x + 3 * c[v].next;
    show(name, y, DATA);
}

SHAPE vertices(void) /* a record holds a row of pointers */
{
    Vertex *c = vertices_();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @vertices
            long s = 0;
            for (Vertex **p = c[v].near; p != c[v].end; p++)
                s += (*p)->x;
            c[v].next = s + (c[v].end - c[v].near);
        }
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3;
    }
    show_vertices("vertices", c);
}

SHAPE vertices_push(void)
{
    Vertex *c = vertices_();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @vertices_push
            for (Vertex **p = c[v].near; p != c[v].end; p++)
                (*p)->next += c[v].x & 15;
        }
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3, c[v].next = 0;
    }
    show_vertices("vertices_push", c);
}

SHAPE vertices_apart(void) /* rows in a table of their own, and how far vertices are from each other */
{
    Vertex *c = vertices_(), **(*row)[2] = malloc(DATA * sizeof *row);
    for (int v = 0; v < DATA; v++)
        row[v][0] = c[v].near, row[v][1] = c[v].end;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @vertices_apart
            for (Vertex **p = row[v][0]; p != row[v][1]; p++)
                if (p != row[v][0])
                    c[v].next += (*p - *row[v][0]) * (*p)->x & 63;
        }
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3;
    }
    show_vertices("vertices_apart", c);
}

SHAPE vertices_changing(void) /* the pointers in the rows change */
{
    Vertex *c = vertices_();
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @vertices_changing
            long s = 0;
            for (Vertex **p = c[v].near; p != c[v].end; p++) {
                s += (*p)->x;
                *p = c + (v * 7 + t) % DATA;
            }
            c[v].next = s;
        }
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3;
    }
    show_vertices("vertices_changing", c);
}

SHAPE vertices_beside(void) /* a search follows them where they are */
{
    Vertex *c = vertices_();
    long total = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @vertices_beside
            for (Vertex **p = c[v].near; p != c[v].end; p++)
                (*p)->next += c[v].x & 15;
        }
        for (int v = 0; v < DATA && total != 77; v++)
            total = total * 3 + (c[v].near != c[v].end ? (*c[v].near)->next : 5);
        for (int v = 0; v < DATA; v++)
            c[v].x += c[v].next & 3, c[v].next = 0;
    }
    c[0].x += total & 1023;
    show_vertices("vertices_beside", c);
}

SHAPE agents(void) /* allocated one by one, reached by a table, and by pointers in lists that they hold */
{
    Vertex **agent = malloc(DATA * sizeof *agent);
    for (int v = 0; v < DATA; v++)
        agent[v] = calloc(1, sizeof **agent);
    for (int v = 0; v < DATA; v++) {
        long many = draw() % 6;
        agent[v]->x = draw() % 100;
        agent[v]->near = malloc((size_t)(many + 1) * sizeof *agent[v]->near);
        agent[v]->end = agent[v]->near + many;
        for (long d = 0; d < many; d++)
            agent[v]->near[d] = agent[draw() % DATA];
    }
    long *y = longs(DATA, 9);
    for (int t = 0; t < SWEEPS; t++) {
        for (int v = 0; v < DATA; v++) { // @agents
            long s = 0;
            for (Vertex **p = agent[v]->near; p != agent[v]->end; p++)
                s += (*p)->x;
            agent[v]->next = s & 63;
        }
        for (int v = 0; v < DATA; v++)
            agent[v]->x += agent[v]->next;
    }
    for (int v = 0; v < DATA; v++)
        y[v] += agent[v]->x;
    show("agents", y, DATA);
}

SHAPE table_moves(void) /* what stands beside the pointers is written, and a search reads the pointers where they are */
{
    Node *nodes = nodes_();
    Spring *s = springs_(nodes);
    long total = 0;
    for (int t = 0; t < SWEEPS; t++) {
        for (int k = 0; k < JOBS; k++) { // @table_moves
            s[k].a->fx += s[k].b->x & s[k].k;
            s[k].k = (s[k].k + 1) & 15;
        }
        for (int k = 0; k < JOBS && s[k].a->x != 1000; k++)
            total = total * 3 + s[k].b->mass;
        move(nodes);
    }
    nodes[0].x += total & 1023;
    show_nodes("table_moves", nodes);
}

int main(void)
{
    springs();
    triangles();
    members();
    from_the_second();
    with_loops();
    upwards();
    apart();
    some_null();
    two_arrays();
    beside();
    written_beside();
    cells();
    rewired();
    sought_beside();
    cells_summed();
    cells_counted();
    vertices();
    vertices_push();
    vertices_apart();
    vertices_changing();
    vertices_beside();
    agents();
    table_moves();
    return 0;
}
