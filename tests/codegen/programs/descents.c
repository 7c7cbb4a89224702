/* Queries that go down a search tree, whose nodes are in an array: each level searches the keys of a node. */
#define ORDER 5
#define NODES 400
#define LEVELS 3

typedef struct {
    int location;
    int children[ORDER + 1];
    int keys[ORDER + 1];
    bool leaf;
    int many;
    int seen;
} Node;

typedef struct Linked {
    struct Linked *children[ORDER];
    int keys[ORDER];
    int value;
} Linked;

static int n_nodes, perfect;

/* Each level looks at all keys of the node; the last one that fits wins. */
SHAPE levels(const Node *nodes, const int *root, const int *keys, const int *records, int *found, int n)
{
    for (int q = 0; q < n; q++) { // @levels
        int at = root[q], offset = at;
        for (int level = 0; level < LEVELS; level++) {
            for (int k = 0; k < ORDER; k++)
                if (nodes[at].keys[k] <= keys[q] && nodes[at].keys[k + 1] > keys[q])
                    if (nodes[offset].children[k] < NODES)
                        offset = nodes[offset].children[k];
            at = offset;
        }
        int value = -1;
        for (int k = 0; k < ORDER; k++)
            if (nodes[at].keys[k] == keys[q])
                value = records[nodes[at].children[k]];
        found[q] = value;
    }
}

/* Each level ends its search with the first key that is larger. */
SHAPE first_larger(const Node *nodes, const int *keys, const int *records, int *found, int n, int height)
{
    for (int q = 0; q < n; q++) { // @first_larger
        int at = 0;
        for (int level = 0; level < height; level++) {
            int k = 0;
            while (k < ORDER - 1 && nodes[at].keys[k + 1] <= keys[q])
                k++;
            at = nodes[at].children[k];
        }
        int value = -1;
        for (int k = 0; k < ORDER; k++)
            if (nodes[at].keys[k] == keys[q]) {
                value = records[nodes[at].children[k]];
                break;
            }
        found[q] = value;
    }
}

/* Down to a leaf, however deep it is. */
SHAPE to_the_leaf(const Node *nodes, const int *keys, int *found, int n)
{
    for (int q = 0; q < n; q++) { // @to_the_leaf
        int at = 0;
        while (!nodes[at].leaf) {
            int k = 0;
            while (k < ORDER - 1 && nodes[at].keys[k + 1] <= keys[q])
                k++;
            at = nodes[at].children[k];
        }
        found[q] = nodes[at].location;
    }
}

/* Two descents for each query: the start and the end of a range. */
SHAPE ranges(const Node *nodes, const int *from, const int *to, int *length, int n)
{
    for (int q = 0; q < n; q++) { // @ranges
        int low = 0, high = 0;
        for (int level = 0; level < LEVELS; level++) {
            for (int k = 0; k < ORDER; k++) {
                if (nodes[low].keys[k] <= from[q] && nodes[low].keys[k + 1] > from[q]) {
                    low = nodes[low].children[k];
                    break;
                }
            }
            for (int k = 0; k < ORDER; k++) {
                if (nodes[high].keys[k] <= to[q] && nodes[high].keys[k + 1] > to[q]) {
                    high = nodes[high].children[k];
                    break;
                }
            }
        }
        length[q] = nodes[high].location - nodes[low].location;
    }
}

/* How many queries came to each leaf. */
SHAPE visits(const Node *nodes, const int *keys, int *count, int n)
{
    for (int q = 0; q < n; q++) { // @visits
        int at = 0;
        while (!nodes[at].leaf) {
            int k = 0;
            while (k < ORDER - 1 && nodes[at].keys[k + 1] <= keys[q])
                k++;
            at = nodes[at].children[k];
        }
        count[at]++;
    }
}

/* And the how manieth each was. */
SHAPE tickets(const Node *nodes, const int *keys, int *count, int *found, int n)
{
    for (int q = 0; q < n; q++) { // @tickets
        int at = 0;
        while (!nodes[at].leaf) {
            int k = 0;
            while (k < ORDER - 1 && nodes[at].keys[k + 1] <= keys[q])
                k++;
            at = nodes[at].children[k];
        }
        found[q] = ++count[at];
    }
}

static inline int leaf_of(const Node *tree, int key)
{
    int at = 0;
    while (!tree[at].leaf) {
        int k = 0;
        while (k < ORDER - 1 && tree[at].keys[k + 1] <= key)
            k++;
        at = tree[at].children[k];
    }
    return at;
}

/* Queries change one field of some nodes, and read another one of those that they find in a tree. */
SHAPE beside(const Node *tree, Node *nodes, const int *owner, const int *keys, int *found, int n)
{
    for (int q = 0; q < n; q++) { // @beside
        nodes[owner[q]].seen += keys[q];
        found[q] = nodes[leaf_of(tree, keys[q])].location;
    }
}

/* Near miss: what they change is what they read. */
SHAPE overtaken(const Node *tree, Node *nodes, const int *owner, const int *keys, int *found, int n)
{
    for (int q = 0; q < n; q++) { // @overtaken
        nodes[owner[q]].location += keys[q];
        found[q] = nodes[leaf_of(tree, keys[q])].location;
    }
}

/* Near miss: nodes that point to each other. */
SHAPE by_pointers(const Linked *root, const int *keys, int *found, int n)
{
    for (int q = 0; q < n; q++) { // @by_pointers
        const Linked *at = root;
        for (int level = 0; level < LEVELS; level++) {
            int k = 0;
            while (k < ORDER - 1 && at->keys[k + 1] <= keys[q])
                k++;
            at = at->children[k];
        }
        found[q] = at->value;
    }
}

/* Near miss: each query moves the keys that it passes. */
SHAPE moving(Node *nodes, const int *keys, int *found, int n)
{
    for (int q = 0; q < n; q++) { // @moving
        int at = 0;
        for (int level = 0; level < LEVELS; level++) {
            int k = 0;
            while (k < ORDER - 1 && nodes[at].keys[k + 1] <= keys[q])
                k++;
            nodes[at].keys[k] = keys[q];
            at = nodes[at].children[k];
        }
        found[q] = nodes[at].location;
    }
}

/* Near miss: each query starts where the one before ended. */
SHAPE from_the_last(const Node *nodes, const int *keys, int *found, int n)
{
    int at = 0;
    for (int q = 0; q < n; q++) { // @from_the_last
        while (!nodes[at].leaf) {
            int k = 0;
            while (k < ORDER - 1 && nodes[at].keys[k + 1] <= keys[q])
                k++;
            at = nodes[at].children[k];
        }
        found[q] = nodes[at].location;
        at = keys[q] % 2 ? 0 : nodes[at].many;
    }
}

/* A tree of equal depth over keys from `low` to `high`; returns its node. */
static int grow(Node *nodes, int level, int low, int high)
{
    int me = perfect++, step = (high - low) / ORDER > 0 ? (high - low) / ORDER : 1;
    nodes[me].location = low;
    nodes[me].leaf = level == LEVELS;
    nodes[me].many = me / 2;
    for (int k = 0; k < ORDER; k++)
        nodes[me].keys[k] = k ? low + k * step : low - (low == 0);
    nodes[me].keys[ORDER] = high;
    for (int k = 0; k < ORDER; k++)
        nodes[me].children[k] = level == LEVELS ? (low + k) % JOBS : grow(nodes, level + 1, low + k * step, k + 1 < ORDER ? low + (k + 1) * step : high);
    return me;
}

int main(void)
{
    Node *nodes = calloc(NODES, sizeof *nodes);
    Node *tree = calloc(NODES, sizeof *tree);
    Linked *linked = calloc(NODES, sizeof *linked);
    int *keys = ints(JOBS, 1250), *more = ints(JOBS, 1250), *records = ints(JOBS, 1000), *root = calloc(JOBS, sizeof *root), *owner = ints(JOBS, NODES);
    int *found = calloc(JOBS, sizeof *found), *count = calloc(NODES, sizeof *count);
    grow(nodes, 0, 0, 1250);
    n_nodes = perfect;
    memcpy(tree, nodes, NODES * sizeof *tree);
    for (int i = 0; i < n_nodes; i++) {
        linked[i].value = nodes[i].location;
        for (int k = 0; k < ORDER; k++) {
            linked[i].keys[k] = nodes[i].keys[k];
            linked[i].children[k] = nodes[i].leaf ? linked : linked + nodes[i].children[k];
        }
    }
    for (int t = 0; t < SWEEPS; t++) {
        if (t == 1)
            for (int q = 0; q < JOBS; q++)
                keys[q] = 2 * q; /* in order; at random before */
        levels(nodes, root, keys, records, found, JOBS);
        show_ints("levels", found, JOBS);
        first_larger(nodes, keys, records, found, JOBS, LEVELS);
        show_ints("first_larger", found, JOBS);
        to_the_leaf(nodes, keys, found, JOBS);
        show_ints("to_the_leaf", found, JOBS);
        ranges(nodes, keys, more, found, JOBS);
        show_ints("ranges", found, JOBS);
        beside(tree, nodes, owner, keys, found, JOBS);
        show_ints("beside", found, JOBS);
        visits(nodes, keys, count, JOBS);
        tickets(nodes, keys, count, found, JOBS);
        show_ints("tickets", found, JOBS);
        by_pointers(linked, keys, found, JOBS);
        show_ints("by_pointers", found, JOBS);
        from_the_last(nodes, keys, found, JOBS);
        show_ints("from_the_last", found, JOBS);
    }
    show_ints("visits", count, NODES);
    for (int i = 0; i < NODES; i++)
        count[i] = nodes[i].seen;
    show_ints("beside", count, NODES);
    overtaken(tree, nodes, owner, keys, found, JOBS);
    show_ints("overtaken", found, JOBS);
    moving(nodes, keys, found, JOBS);
    show_ints("moving", found, JOBS);
    return 0;
}
