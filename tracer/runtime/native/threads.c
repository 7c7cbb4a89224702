/* Pools of pinned threads. The woven program has one of its own; every context of the library has another, so that
 * schedules can run beside each other and within each other. A pool that is in use, or that belongs to the parent of
 * this process, is never waited for: the caller then does all of the work. */
#define MAX_THREADS 64
#define SPINS 40000 /* some 0.4 ms: a thread that sleeps between short sweeps takes longer to wake than a sweep lasts */
#define FEW_SPINS 400 /* where threads share a CPU: the one that is waited for may need this very CPU */

#define LAUNCH 128 /* more than there may be threads */

typedef void (*Task)(int32_t, void *);

typedef struct Pool {
    int32_t threads; /* with the caller's */
    pid_t owner;
    Task task;
    void *data;
    Arithmetic arithmetic;
    atomic_int launch; /* number of the task · LAUNCH + the threads that it takes: read at once, so that a thread that
                          is late for a task without it does not take part in the next one twice */
    atomic_int running, patience, ending;
    atomic_uint flags; /* floating-point exceptions that workers met */
    atomic_flag busy;
    pthread_t workers[MAX_THREADS];
} Pool;

static Pool program_pool = {.threads = 1, .patience = SPINS, .busy = ATOMIC_FLAG_INIT};

typedef struct { Pool *pool; int32_t self; } Worker;

static void futex_wait(atomic_int *word, int value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}
static void futex_wake(atomic_int *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0); }

static void *work(void *argument) {
    Worker worker = *(Worker *)argument;
    Pool *pool = worker.pool;
    int seen = 0;
    free(argument);
    for (;;) {
        int spins = 0, found;
        while ((found = atomic_load_explicit(&pool->launch, memory_order_acquire)) == seen) {
            if (++spins < atomic_load_explicit(&pool->patience, memory_order_relaxed)) __builtin_ia32_pause();
            else futex_wait(&pool->launch, seen);
        }
        seen = found;
        if (atomic_load_explicit(&pool->ending, memory_order_acquire)) return NULL;
        if (worker.self < seen % LAUNCH) {
            take_over(pool->arithmetic);
            pool->task(worker.self, pool->data);
            atomic_fetch_or_explicit(&pool->flags, raised_flags(), memory_order_relaxed);
            if (atomic_fetch_sub_explicit(&pool->running, 1, memory_order_acq_rel) == 1) futex_wake(&pool->running);
        }
    }
}

static int start_worker(Pool *pool, int32_t cpu) {
    pthread_attr_t attributes;
    cpu_set_t set;
    Worker *worker = malloc(sizeof *worker);
    if (!worker) return 0;
    *worker = (Worker){pool, pool->threads};
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
    int failed = pthread_create(&pool->workers[pool->threads], &attributes, work, worker);
    pthread_attr_destroy(&attributes);
    if (failed) free(worker);
    return !failed;
}

static void launch(Pool *pool, int32_t threads) {
    unsigned number = (unsigned)atomic_load_explicit(&pool->launch, memory_order_relaxed) / LAUNCH + 1;
    unsigned word = (number % (INT_MAX / LAUNCH)) * LAUNCH + (unsigned)threads;
    atomic_store_explicit(&pool->launch, (int)word, memory_order_release);
    futex_wake(&pool->launch);
}

/* Have threads 1 … threads − 1 of a pool, pinned to cpus[1 …]; thread 0 is the caller. Returns how many there are. */
static int32_t have_threads(Pool *pool, int32_t threads, const int32_t *cpus) {
    pool->owner = getpid();
    if (threads > MAX_THREADS) threads = MAX_THREADS;
    for (int32_t i = 0; i < threads; i++)
        for (int32_t j = 0; j < i; j++)
            if (cpus[i] == cpus[j]) atomic_store_explicit(&pool->patience, FEW_SPINS, memory_order_relaxed);
    while (pool->threads < threads && start_worker(pool, cpus[pool->threads])) pool->threads++;
    return pool->threads;
}

/* Threads of the program's own pool. */
int32_t tc_threads(int32_t threads, const int32_t *cpus) { return have_threads(&program_pool, threads, cpus); }

/* A pool of its own, NULL without memory. `threads`, `cpus`: as above; how many there are is written to `count`. */
Pool *tc_pool_start(int32_t threads, const int32_t *cpus, int32_t *count) {
    Pool *pool = calloc(1, sizeof *pool);
    if (!pool) return NULL;
    pool->threads = 1;
    atomic_store(&pool->patience, SPINS);
    *count = have_threads(pool, threads, cpus);
    return pool;
}

/* End the threads of a pool that nobody uses, and the pool. In a child of its process there are none to end. */
void tc_pool_end(Pool *pool) {
    if (pool->owner == getpid()) {
        atomic_store_explicit(&pool->ending, 1, memory_order_release);
        launch(pool, 0);
        for (int32_t i = 1; i < pool->threads; i++) pthread_join(pool->workers[i], NULL);
    }
    free(pool);
}

/* Have what(0) … what(threads − 1) done, at the same time where the pool can; `pool` NULL is the program's. */
static void run_on(Pool *pool, int32_t threads, Task what, void *data) {
    if (!pool) pool = &program_pool;
    if (threads <= 1 || pool->threads < threads || pool->owner != getpid() ||
        atomic_flag_test_and_set_explicit(&pool->busy, memory_order_acquire)) {
        for (int32_t t = 0; t < threads; t++) what(t, data);
        return;
    }
    int error = errno;
    pool->task = what;
    pool->data = data;
    pool->arithmetic = arithmetic();
    atomic_store_explicit(&pool->flags, 0, memory_order_relaxed);
    atomic_store_explicit(&pool->running, threads - 1, memory_order_relaxed);
    launch(pool, threads);
    what(0, data);
    int left, spins = 0;
    while ((left = atomic_load_explicit(&pool->running, memory_order_acquire)) > 0) {
        if (++spins < atomic_load_explicit(&pool->patience, memory_order_relaxed)) __builtin_ia32_pause();
        else futex_wait(&pool->running, left);
    }
    raise_flags(atomic_load_explicit(&pool->flags, memory_order_relaxed));
    errno = error;
    atomic_flag_clear_explicit(&pool->busy, memory_order_release);
}
