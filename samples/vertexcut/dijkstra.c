/*
 * dijkstra: shortest paths from one node of a dense graph, with a queue of nodes whose distance has dropped.
 *
 * The graph is a matrix of 50 x 50 weights from 1 to 100. The queue is a linked list on the heap; a node may stand in
 * it several times, and is worked on each time.
 */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define NODES 50
#define EXPECTED 497L

typedef struct Item {
    int node, distance;
    struct Item *next;
} Item;

static int weight[NODES][NODES];
static int distance[NODES], previous[NODES];
static Item *head;

static uint32_t state = 1;

static uint32_t next_random(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

/* Appends to the end of the list. */
static void enqueue(int node, int length)
{
    Item *item = malloc(sizeof *item), *last = head;
    if (item == NULL)
        exit(2);
    item->node = node;
    item->distance = length;
    item->next = NULL;
    if (last == NULL) {
        head = item;
        return;
    }
    while (last->next != NULL)
        last = last->next;
    last->next = item;
}

static Item dequeue(void)
{
    Item *first = head, copy = *first;
    head = first->next;
    free(first);
    return copy;
}

static void shortest_paths(int source)
{
    for (int v = 0; v < NODES; v++) {
        distance[v] = INT_MAX;
        previous[v] = -1;
    }
    distance[source] = 0;
    enqueue(source, 0);
    while (head != NULL) {
        Item from = dequeue();
        for (int v = 0; v < NODES; v++) {
            int length = from.distance + weight[from.node][v];
            if (length < distance[v]) {
                distance[v] = length;
                previous[v] = from.node;
                enqueue(v, length);
            }
        }
    }
}

int main(void)
{
    for (int u = 0; u < NODES; u++)
        for (int v = 0; v < NODES; v++)
            weight[u][v] = (int)(next_random() % 100u) + 1;
    shortest_paths(0);
    long sum = 0;
    for (int v = 0; v < NODES; v++)
        sum += distance[v];
    printf("dijkstra %ld\n", sum);
    return sum != EXPECTED;
}
