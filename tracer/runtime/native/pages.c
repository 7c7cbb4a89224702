/* Memory nodes: the pages of an array that was permuted in place go to the nodes of the threads that use them. */
#ifndef SYSTEM_CALL
#define SYSTEM_CALL syscall /* tests put a machine of several nodes in its place */
#endif
#define PAGES_AT_ONCE 512
#define MOVE_OWN_PAGES 2 /* MPOL_MF_MOVE: pages that other processes share stay */

typedef struct {
    uintptr_t array, bytes, page;
    int32_t threads, node[MAX_THREADS];
    int64_t moved[MAX_THREADS];
} Pages;

static void node_part(int32_t thread, void *data) {
    unsigned cpu = 0, node = 0;
    ((Pages *)data)->node[thread] = SYSTEM_CALL(SYS_getcpu, &cpu, &node, NULL) ? -1 : (int32_t)node;
}

/* The pages of a thread's share; those that cannot be moved, by a limit on the process's nodes or for lack of memory, stay. */
static void pages_part(int32_t thread, void *data) {
    Pages *pages = data;
    uintptr_t low = pages->array / pages->page;
    uintptr_t count = (pages->array + pages->bytes + pages->page - 1) / pages->page - low;
    uintptr_t begin = count * (uintptr_t)thread / (uintptr_t)pages->threads;
    uintptr_t end = count * ((uintptr_t)thread + 1) / (uintptr_t)pages->threads;
    void *list[PAGES_AT_ONCE];
    int status[PAGES_AT_ONCE], target[PAGES_AT_ONCE];
    while (begin < end) {
        unsigned long some = end - begin < PAGES_AT_ONCE ? end - begin : PAGES_AT_ONCE, far = 0;
        for (unsigned long i = 0; i < some; i++) list[i] = (void *)((low + begin + i) * pages->page);
        begin += some;
        if (SYSTEM_CALL(SYS_move_pages, 0, some, list, NULL, status, 0)) return;
        for (unsigned long i = 0; i < some; i++)
            if (status[i] >= 0 && status[i] != pages->node[thread]) {
                list[far] = list[i];
                target[far++] = pages->node[thread];
            }
        if (!far) continue;
        if (SYSTEM_CALL(SYS_move_pages, 0, far, list, target, status, MOVE_OWN_PAGES) < 0) return;
        for (unsigned long i = 0; i < far; i++) pages->moved[thread] += status[i] == pages->node[thread];
    }
}

/* Moves the pages of an array, each thread those of its share, and says how many; none where all threads have one node. */
int64_t tc_move_pages(Pool *pool, void *array, int64_t bytes, int32_t threads) {
    Pages pages = {(uintptr_t)array, (uintptr_t)bytes, (uintptr_t)sysconf(_SC_PAGESIZE), threads, {0}, {0}};
    if (threads < 2 || threads > MAX_THREADS || bytes <= 0) return 0;
    run_on(pool, threads, node_part, &pages);
    int apart = 0;
    for (int32_t t = 0; t < threads; t++) {
        if (pages.node[t] < 0) return 0;
        apart |= pages.node[t] != pages.node[0];
    }
    if (!apart) return 0;
    run_on(pool, threads, pages_part, &pages);
    int64_t moved = 0;
    for (int32_t t = 0; t < threads; t++) moved += pages.moved[t];
    return moved;
}
