/* How a region runs while its layout is in force: blocks of jobs, one wavefront after the other.
 *
 * What a block computes, and in which order the results of blocks are put together, does not depend on the threads that
 * there are: they only take blocks of the present wavefront, each of its own share first, then what others have left.
 */
#define MAX_SLOTS 256
#define MAX_REDUCTIONS 32

typedef void (*Range)(int64_t, int64_t, const uint64_t *, uint64_t *);

/* How one region runs. Written by the host. `results` is for one run at a time. */
typedef struct {
    Range run;
    int64_t jobs;
    int32_t slots, threads, checks, patches, reductions, privates, blocks, waves; /* threads: at most so many */
    const int64_t *bounds;      /* blocks + 1 offsets into the job order */
    const int32_t *sequence;    /* blocks in order of their wavefronts */
    const int32_t *wave_bounds; /* waves + 1 offsets into the sequence */
    uint64_t *results;          /* of each reduction, block by block */
    const int32_t *check_slot;
    const int32_t *check_bytes;
    const uint64_t *check_value;
    const int32_t *patch_slot;  /* slot, its source slot or −1, and what is added (or the value itself) */
    const int32_t *patch_from;
    const int64_t *patch_add;
    const int32_t *reduce_slot; /* start slot, operator, type */
    const int32_t *reduce_op;
    const int32_t *reduce_type;
    const int32_t *private_slot; /* a base that blocks 1 … get a zeroed copy of their own for */
    const int64_t *private_low;  /* bytes [low, high) of the array, for each private and each block */
    const int64_t *private_high;
    const int64_t *private_origin; /* what the base has to point to: base + origin is byte 0 */
    const int32_t *private_type;
    void **private_memory;
    /* Runs the region elsewhere, and says whether it did: region, `in` as the program handed it over, `out`, whether
       arithmetic is as a process starts with it. NULL: it runs here. */
    int32_t (*offload)(int32_t, const uint64_t *, uint64_t *, int32_t);
} Plan;

const int64_t tc_plan_bytes = sizeof(Plan); /* for the other side to compare */

typedef struct {
    const Plan *plan;
    const uint64_t *in;
    int32_t threads, first, count; /* blocks [first, first + count) of the sequence are run by so many threads */
    atomic_int next[MAX_THREADS];  /* of the share of each thread, the first block that nobody has taken */
} Launch;

/* Fill a private array with what is added without any effect. */
static void clear(char *memory, int64_t bytes, int32_t type) {
    uint64_t none = no_addend(type);
    if (!none) memset(memory, 0, (size_t)bytes);
    else if (type == TYPE_F32)
        for (int64_t i = 0; i < bytes; i += 4) memcpy(memory + i, &none, 4);
    else
        for (int64_t i = 0; i < bytes; i += 8) memcpy(memory + i, &none, 8);
}

static void run_block(const Plan *plan, const uint64_t *given, int32_t block) {
    uint64_t in[MAX_SLOTS];
    memcpy(in, given, sizeof(uint64_t) * (size_t)plan->slots);
    if (block > 0) {
        for (int32_t r = 0; r < plan->reductions; r++)
            in[plan->reduce_slot[r]] = identity(plan->reduce_op[r], plan->reduce_type[r]);
        for (int32_t p = 0; p < plan->privates; p++) {
            int32_t place = p * plan->blocks + block;
            int64_t low = plan->private_low[place], high = plan->private_high[place];
            char *memory = plan->private_memory[place];
            clear(memory, high - low, plan->private_type[p]);
            in[plan->private_slot[p]] = (uint64_t)(uintptr_t)(memory - low - plan->private_origin[p]);
        }
    }
    plan->run(plan->bounds[block], plan->bounds[block + 1], in, plan->results + (int64_t)block * plan->reductions);
}

/* Where the share of a thread starts in a wavefront. */
static int32_t share(const Launch *launch, int32_t thread) {
    return launch->first + (int32_t)((int64_t)launch->count * thread / launch->threads);
}

/* Run what is left of a thread's own share of a wavefront, then of those of the others. */
static void run_share(int32_t thread, void *data) {
    Launch *launch = data;
    for (int32_t t = 0; t < launch->threads; t++) {
        int32_t whose = (thread + t) % launch->threads, end = share(launch, whose + 1), place;
        while ((place = atomic_fetch_add_explicit(&launch->next[whose], 1, memory_order_relaxed)) < end)
            run_block(launch->plan, launch->in, launch->plan->sequence[place]);
    }
}

static void run_wave(Pool *pool, Launch *launch, int32_t first, int32_t end) {
    launch->first = first;
    launch->count = end - first;
    launch->threads = launch->plan->threads < launch->count ? launch->plan->threads : launch->count;
    if (launch->threads > pool->threads) launch->threads = pool->threads;
    for (int32_t t = 0; t < launch->threads; t++) atomic_init(&launch->next[t], share(launch, t));
    run_on(pool, launch->threads, run_share, launch);
}

/* The first number of [low, high) that starts at or behind a byte, counted in bytes from low. */
static int64_t number_behind(int64_t byte, int64_t low, int64_t high, int64_t step) {
    return byte <= low ? 0 : byte >= high ? high - low : (byte - low + step - 1) / step * step;
}

/* Each thread adds up one part of every reduced array, from the private arrays of all blocks in turn. */
static void add_part(int32_t thread, void *data) {
    const Launch *launch = data;
    const Plan *plan = launch->plan;
    for (int32_t p = 0; p < plan->privates; p++) {
        const int64_t *lows = plan->private_low + p * plan->blocks, *highs = plan->private_high + p * plan->blocks;
        int32_t type = plan->private_type[p], step = width_of(type);
        int64_t from = lows[1], to = highs[1];
        for (int32_t b = 2; b < plan->blocks; b++) {
            if (lows[b] < from) from = lows[b];
            if (highs[b] > to) to = highs[b];
        }
        int64_t begin = from + (to - from) / launch->threads * thread;
        int64_t end = thread + 1 == launch->threads ? to : from + (to - from) / launch->threads * (thread + 1);
        for (int32_t b = 1; b < plan->blocks; b++) {
            int64_t first = number_behind(begin, lows[b], highs[b], step);
            int64_t last = number_behind(end, lows[b], highs[b], step);
            char *target = (char *)(uintptr_t)launch->in[plan->private_slot[p]] + plan->private_origin[p] + lows[b];
            const char *source = plan->private_memory[p * plan->blocks + b];
            uint64_t none = no_addend(type);
            /* What no job of that block touched stays as it is, every bit: 0.0 + -0.0 may not be added either where
               tiny numbers are flushed to zero. */
#define ADD_UP(REAL, BITS)                                                                                        \
    for (int64_t i = first; i < last; i += (int64_t)sizeof(REAL)) {                                               \
        REAL *to = (REAL *)(target + i), added = *(const REAL *)(source + i);                                     \
        BITS bits;                                                                                                \
        memcpy(&bits, &added, sizeof bits);                                                                       \
        *to = bits == (BITS)none ? *to : *to + added;                                                             \
    }
            if (type == TYPE_F64) { ADD_UP(double, uint64_t) }
            else if (type == TYPE_F32) { ADD_UP(float, uint32_t) }
            else
                for (int64_t i = first; i < last; i += step) combine(target + i, source + i, OP_ADD, type);
        }
    }
}

static void execute(Pool *pool, const Plan *plan, const uint64_t *given, uint64_t *out) {
    uint64_t in[MAX_SLOTS];
    Launch launch;
    if (!pool) pool = &program_pool;
    memcpy(in, given, sizeof(uint64_t) * (size_t)plan->slots);
    for (int32_t p = 0; p < plan->patches; p++) {
        uint64_t base = plan->patch_from[p] < 0 ? 0 : in[plan->patch_from[p]];
        in[plan->patch_slot[p]] = base + (uint64_t)plan->patch_add[p];
    }
    launch.plan = plan;
    launch.in = in;
    for (int32_t w = 0; w < plan->waves; w++) run_wave(pool, &launch, plan->wave_bounds[w], plan->wave_bounds[w + 1]);
    if (plan->privates) run_on(pool, launch.threads, add_part, &launch); /* all blocks are of one wavefront */
    for (int32_t r = 0; r < plan->reductions; r++)
        for (int32_t b = 1; b < plan->blocks; b++)
            combine(&plan->results[r], &plan->results[(int64_t)b * plan->reductions + r], plan->reduce_op[r],
                    plan->reduce_type[r]);
    memcpy(out, plan->results, sizeof(uint64_t) * (size_t)plan->reductions);
    out[plan->reductions] = (uint64_t)plan->jobs;
}
