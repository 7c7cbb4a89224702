/*
 * btree: queries to a B+ tree, a job for each: points (the record of a key) and ranges (where a range of keys begins,
 * and how long it is).
 *
 * A query goes down the tree, whose nodes are in one array, and searches the keys of a node on each level. Queries come
 * in any order, so that neighbouring ones read different nodes; the remedy (-DFIXED) sorts them by key.
 *
 *     cc -O2 -std=c11 btree.c -o btree
 *     ./btree [RECORDS [STEPS [SEED]]]        as many queries as records, new ones in each step
 */
#include "spac.h"

#define ORDER 16

/* The keys of child k are from keys[k] on and less than keys[k + 1]; in a leaf, children are records. */
typedef struct {
    int keys[ORDER + 1];
    int children[ORDER];
} Node;

typedef struct {
    Node *nodes;
    int root, height; /* levels above the leaves */
} Tree;

static inline int child_of(const Node *node, int key)
{
    int k = 0;
    while (k < ORDER - 1 && node->keys[k + 1] <= key)
        k++;
    return node->children[k];
}

static void find_points(const Tree *tree, const int *records, const int *keys, int *found, int n)
{
    const Node *nodes = tree->nodes;
    int root = tree->root, height = tree->height;
    for (int q = 0; q < n; q++) {
        int at = root;
        for (int level = 0; level < height; level++)
            at = child_of(&nodes[at], keys[q]);
        found[q] = records[child_of(&nodes[at], keys[q])];
    }
}

static void find_ranges(const Tree *tree, const int *from, const int *to, int *first, int *length, int n)
{
    const Node *nodes = tree->nodes;
    int root = tree->root, height = tree->height;
    for (int q = 0; q < n; q++) {
        int low = root, high = root;
        for (int level = 0; level < height; level++) {
            low = child_of(&nodes[low], from[q]);
            high = child_of(&nodes[high], to[q]);
        }
        int begin = child_of(&nodes[low], from[q]), end = child_of(&nodes[high], to[q]);
        first[q] = begin;
        length[q] = end - begin + 1;
    }
}

/* A tree of n records, whose keys are 2, 4, ...; nodes are in the order in which insertions might have made them. */
static Tree grow(int n, uint64_t *random)
{
    int leaves = (n + ORDER - 1) / ORDER, total = 0;
    for (int level = leaves; level > 1; level = (level + ORDER - 1) / ORDER)
        total += level;
    Tree tree = {allocate((size_t)(total + 1), sizeof(Node)), 0, 0};
    int *place = new_numbers(total + 1, 0, random);
    int below = n, first = 0, before = 0, reach = 1; /* records of a child */
    for (int count = leaves;; count = (count + ORDER - 1) / ORDER) {
        for (int i = 0; i < count; i++) {
            Node *node = &tree.nodes[place[first + i]];
            for (int k = 0; k < ORDER; k++) {
                int child = ORDER * i + k;
                node->keys[k] = child < below ? 2 * (child * reach + 1) : 2 * n + 2;
                node->children[k] = child < below ? (reach == 1 ? child : place[before + child]) : node->children[0];
            }
            node->keys[ORDER] = 2 * n + 2;
        }
        if (count == 1) {
            tree.root = place[first];
            return tree;
        }
        before = first;
        first += count;
        below = count;
        reach *= ORDER;
        tree.height++;
    }
}

static int by_value(const void *one, const void *other)
{
    const int *p = one, *q = other;
    return (*p > *q) - (*p < *q);
}

int main(int argc, char **argv)
{
    Arguments given = arguments(argc, argv, 200000, 50000000, 5);
    int n = given.size;
    Tree tree = grow(n, &given.random);
    int *records = new_ints(n), *keys = new_ints(n), *to = new_ints(n);
    int *found = new_ints(n), *begins = new_ints(n), *lengths = new_ints(n);
    for (int i = 0; i < n; i++)
        records[i] = draw(&given.random, 1000);
    long long sum = 0, where = 0, length = 0;
    double begin = seconds();
    for (int step = 0; step < given.steps; step++) {
        for (int q = 0; q < n; q++)
            keys[q] = 2 + draw(&given.random, 2 * n);
        if (REMEDY)
            qsort(keys, (size_t)n, sizeof *keys, by_value);
        for (int q = 0; q < n; q++)
            to[q] = keys[q] < 2 * n - 1000 ? keys[q] + keys[q] % 1000 : keys[q];
        find_points(&tree, records, keys, found, n);
        find_ranges(&tree, keys, to, begins, lengths, n);
        for (int q = 0; q < n; q++) {
            sum += found[q];
            where += begins[q];
            length += lengths[q];
        }
    }
    tell_time(begin);
    printf("points %lld ranges %lld %lld\n", sum, where, length);
    return 0;
}
