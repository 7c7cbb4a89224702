/* The table of allocations: every block of memory that the program got and has not given back.
 *
 * Sizes lie in groups, one for each KiB of addresses, in the order in which the program first gets memory there: so
 * neighbours in memory are neighbours in the table, and a program that makes millions of small objects in a row meets
 * few cache lines. Groups are found by open addressing, under one spin lock; the last one is tried first. They lie in
 * pages of their own: the program's heap is as it would be without them. The program's calls come here instead of to the
 * C library, by names with `tc_` in front; they do what the C library does, and leave errno as it leaves it.
 */
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct { uintptr_t base; size_t size; } Entry;

enum { GROUP_SHIFT = 10, STEP_SHIFT = 3, STEPS = 1 << (GROUP_SHIFT - STEP_SHIFT), SLAB_BYTES = 1 << 20, AT_A_TIME = 32 };
#define LARGE UINT32_MAX /* the size is in `larges` */

typedef struct Group {
    uintptr_t number;   /* its addresses >> GROUP_SHIFT */
    struct Group *next; /* of those that are free */
    uint32_t count;     /* sizes that are not 0 */
    uint32_t sizes[STEPS];
} Group;

typedef struct { uintptr_t number; Group *group; } Slot; /* number 0: the slot is free */

static Slot *table;
static Entry late[AT_A_TIME]; /* what the table does not know yet, in order; without bytes: given back */
static size_t waiting;
static Group *free_groups, *slab, *last;
static Entry *larges;
static size_t capacity, used, filled, slab_left, large_count, large_room; /* filled: groups with a count */
static atomic_flag table_lock = ATOMIC_FLAG_INIT;
uint64_t tc_generation; /* how often the table has changed */

static void lock_table(void) {
    while (atomic_flag_test_and_set_explicit(&table_lock, memory_order_acquire))
        sched_yield();
}
static void unlock_table(void) { atomic_flag_clear_explicit(&table_lock, memory_order_release); }

/* Pages of zeros; NULL where there are none. Leaves errno: the program asked for memory, and got it. */
static void *pages(size_t bytes) {
    int error = errno;
    void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = error;
    return found == MAP_FAILED ? NULL : found;
}

/* The slot that a group is put in if it is free. */
static Slot *home_of(uintptr_t number) {
    return &table[(size_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (capacity - 1)];
}

/* The slot of a group by its number, or the free one where it would be. */
static Slot *slot_of(uintptr_t number) {
    Slot *slot = home_of(number);
    while (slot->number && slot->number != number) slot = slot + 1 == table + capacity ? table : slot + 1;
    return slot;
}

static Group *group_of(uintptr_t number) {
    if (last && last->number == number) return last;
    Group *found = capacity ? slot_of(number)->group : NULL;
    if (found) last = found;
    return found;
}

/* Makes room for twice the groups that hold anything; the others are free again. */
static int resize(void) {
    size_t old_capacity = capacity, wanted = 256;
    Slot *old = table;
    while (wanted < filled * 4) wanted *= 2;
    Slot *fresh = pages(wanted * sizeof *fresh);
    if (!fresh) return 0;
    table = fresh;
    capacity = wanted;
    used = 0;
    last = NULL;
    for (size_t i = 0; i < old_capacity; i++) {
        Group *group = old[i].group;
        if (!group) continue;
        if (group->count) {
            *slot_of(group->number) = old[i];
            used++;
        } else {
            group->number = 0;
            group->next = free_groups;
            free_groups = group;
        }
    }
    if (old) munmap(old, old_capacity * sizeof *old);
    return 1;
}

/* A group without sizes; NULL where there is no memory. */
static Group *new_group(void) {
    Group *found = free_groups;
    if (found) {
        free_groups = found->next;
        return found;
    }
    if (!slab_left) {
        slab = pages(SLAB_BYTES);
        if (!slab) return NULL;
        slab_left = SLAB_BYTES / sizeof *slab;
    }
    slab_left--;
    return slab++;
}

static int add_large(uintptr_t base, size_t size) {
    if (large_count == large_room) {
        int error = errno;
        size_t room = large_room ? 2 * large_room : 16;
        Entry *fresh = realloc(larges, room * sizeof *fresh);
        errno = error;
        if (!fresh) return 0;
        larges = fresh;
        large_room = room;
    }
    larges[large_count++] = (Entry){base, size};
    return 1;
}

static size_t large_size(uintptr_t base) {
    for (size_t i = 0; i < large_count; i++)
        if (larges[i].base == base) return larges[i].size;
    return 0;
}

static void drop(uintptr_t base) {
    Group *group = group_of(base >> GROUP_SHIFT);
    uint32_t *size = group ? &group->sizes[(base >> STEP_SHIFT) & (STEPS - 1)] : NULL;
    if (!size || !*size) return;
    for (size_t i = 0; *size == LARGE && i < large_count; i++)
        if (larges[i].base == base) {
            larges[i] = larges[--large_count];
            break;
        }
    *size = 0;
    filled -= --group->count == 0;
}

static void put(uintptr_t base, size_t size) {
    uintptr_t number = base >> GROUP_SHIFT;
    Group *group = group_of(number);
    if (!group) {
        if (used * 2 >= capacity && !resize()) return;
        group = new_group();
        if (!group) return;
        group->number = number;
        *slot_of(number) = (Slot){number, group};
        last = group;
        used++;
    }
    if (size >= LARGE && !add_large(base, size)) return;
    group->sizes[(base >> STEP_SHIFT) & (STEPS - 1)] = size < LARGE ? (uint32_t)size : LARGE;
    filled += group->count++ == 0;
}

/* Brings the table up to date. Memory is given back in any order: the lines of the table that are needed are all asked
   for before the first of them is. */
static void settle(void) {
    if (capacity) {
        for (size_t i = 0; i < waiting; i++) __builtin_prefetch(home_of(late[i].base >> GROUP_SHIFT));
        for (size_t i = 0; i < waiting; i++) {
            const Slot *slot = home_of(late[i].base >> GROUP_SHIFT);
            if (slot->group) __builtin_prefetch(&slot->group->sizes[(late[i].base >> STEP_SHIFT) & (STEPS - 1)], 1);
        }
    }
    for (size_t i = 0; i < waiting; i++) {
        drop(late[i].base);
        if (late[i].size) put(late[i].base, late[i].size);
    }
    waiting = 0;
}

/* An allocation that can not be remembered is only one that will be refused later: never an error. Nor is one of no
   bytes remembered: nothing lies in it.
   What was at this address is gone, though its end was not seen: getline frees the buffer that it is given. */
static void remember(void *pointer, size_t size) {
    uintptr_t base = (uintptr_t)pointer;
    if (!base || base & ((1 << STEP_SHIFT) - 1)) return;
    lock_table();
    tc_generation++;
    late[waiting++] = (Entry){base, size};
    if (waiting == AT_A_TIME) settle();
    unlock_table();
}

static void forget(void *pointer) { remember(pointer, 0); }

void *tc_malloc(size_t size) {
    void *p = malloc(size);
    remember(p, size);
    return p;
}
void *tc_calloc(size_t count, size_t size) {
    void *p = calloc(count, size);
    remember(p, count * size);
    return p;
}
void *tc_realloc(void *old, size_t size) {
    forget(old);
    void *p = realloc(old, size);
    if (p) remember(p, size);
    else if (old && size) remember(old, 0); /* still alive; its size is no longer known */
    return p;
}
void *tc_reallocarray(void *old, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return tc_realloc(old, bytes);
}
void tc_free(void *p) {
    forget(p);
    free(p);
}
void *tc_aligned_alloc(size_t align, size_t size) {
    void *p = aligned_alloc(align, size);
    remember(p, size);
    return p;
}
int tc_posix_memalign(void **out, size_t align, size_t size) {
    int code = posix_memalign(out, align, size);
    if (!code) remember(*out, size);
    return code;
}
void *tc_memalign(size_t align, size_t size) {
    void *p = memalign(align, size);
    remember(p, size);
    return p;
}
void *tc_valloc(size_t size) {
    void *p = valloc(size);
    remember(p, size);
    return p;
}

/* Operators of C++, by their names in the binary. They are the program's own or the C++ library's; a C program, which
   has neither, never calls these. An exception that they throw passes through. */

/* Bits of a vector<bool> lie in words, of which a program reads the last one as a whole: what stands behind its last bit
   is what lay there before, addresses of this run too. No program may rely on it; here it is the same in each run, so
   that a guard of these words holds. */
static void clear_last_word(void *p, size_t size) {
    const uint64_t none = 0;
    if (p && size && size % sizeof none == 0) memcpy((char *)p + size - sizeof none, &none, sizeof none);
}
#define NEW(NAME, PARAMETERS, ARGUMENTS)                                                                          \
    extern __attribute__((weak)) void *NAME PARAMETERS;                                                           \
    void *tc_##NAME PARAMETERS {                                                                                  \
        void *p = NAME ARGUMENTS;                                                                                 \
        clear_last_word(p, size);                                                                                 \
        remember(p, size);                                                                                        \
        return p;                                                                                                 \
    }
#define DELETE(NAME, PARAMETERS, ARGUMENTS)                                                                       \
    extern __attribute__((weak)) void NAME PARAMETERS;                                                            \
    void tc_##NAME PARAMETERS {                                                                                   \
        forget(p);                                                                                                \
        NAME ARGUMENTS;                                                                                           \
    }
NEW(_Znwm, (size_t size), (size))
NEW(_Znam, (size_t size), (size))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *tag), (size, tag))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (size, align, tag))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *tag), (size, align, tag))
DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *tag), (p, tag))

/* Locks the table for a walk over all of it, which is short after a program has given nearly everything back. */
static void lock_to_walk(void) {
    lock_table();
    settle();
    if (capacity > 256 && filled * 32 < capacity) resize();
}

/* The next entry of the table from (group, step) on, which are moved behind it; one without bytes at the end. */
static Entry next_entry(size_t *group, size_t *step) {
    for (; *group < capacity; ++*group, *step = 0) {
        const Group *one = table[*group].group;
        while (one && one->count && *step < STEPS) {
            uint32_t size = one->sizes[*step];
            uintptr_t base = (one->number << GROUP_SHIFT) + (*step << STEP_SHIFT);
            ++*step;
            if (size) return (Entry){base, size == LARGE ? large_size(base) : size};
        }
    }
    return (Entry){0, 0};
}

/* Copies at most `room` entries; returns how many there are. */
size_t tc_objects(uintptr_t *bases, size_t *sizes, size_t room) {
    size_t count = 0, group = 0, step = 0;
    lock_to_walk();
    for (Entry entry; (entry = next_entry(&group, &step)).size; count++)
        if (count < room) {
            bases[count] = entry.base;
            sizes[count] = entry.size;
        }
    unlock_table();
    return count;
}

/* Whether bytes [base, base + size) have one in common with an entry. */
static int meets(Entry entry, uintptr_t base, size_t size) {
    return entry.base < base + size && base < entry.base + entry.size;
}

/* Which object each address lies in: of the table, or of `others`, which are further ones. It has no bytes where there
   is none, or where what holds it has a byte in common with another object: one of the two is gone then, and it is not
   known which. */
void tc_find(const uint64_t *addresses, size_t count, const Entry *others, size_t more, Entry *found) {
    enum { AT_ONCE = 64 };
    if (count > AT_ONCE) {
        tc_find(addresses + AT_ONCE, count - AT_ONCE, others, more, found + AT_ONCE);
        count = AT_ONCE;
    }
    size_t meeting[AT_ONCE] = {0};
    lock_to_walk();
    for (size_t a = 0; a < count; a++) found[a] = (Entry){0, 0};
    for (int counting = 0; counting < 2; counting++) {
        size_t group = 0, step = 0, other = 0;
        for (;;) {
            Entry entry = next_entry(&group, &step);
            while (!entry.size && other < more) entry = others[other++];
            if (!entry.size) break;
            for (size_t a = 0; a < count; a++)
                if (!counting) found[a] = meets(entry, (uintptr_t)addresses[a], 1) ? entry : found[a];
                else meeting[a] += found[a].size && meets(entry, found[a].base, found[a].size);
        }
    }
    for (size_t a = 0; a < count; a++)
        if (meeting[a] != 1) found[a] = (Entry){0, 0}; /* itself, and nothing else */
    unlock_table();
}
