/* The objects of the program at one moment, by address: an address is looked up in constant time, by and large.
 *
 * Programs keep their objects in few stretches of addresses (the heap, large blocks, globals, the stack). Each stretch
 * is cut into as many equal buckets as it has objects, and an object is searched for in its bucket alone.
 */
enum { STRETCHES = 16, DIGIT = 11, DIGITS = 1 << DIGIT };
#define STRETCH_GAP ((uintptr_t)1 << 28) /* bytes without an object between two stretches */
#define NOWHERE ((size_t)-1)

typedef struct {
    uintptr_t low, high; /* first bytes of its first and last object */
    int shift;
    size_t buckets;
    uint32_t *first; /* of each bucket, its first object; one more is the end */
} Stretch;

typedef struct {
    size_t count, stretches;
    Entry *entries; /* by address; no two share a byte */
    Stretch stretch[STRETCHES];
} LiveObjects;

/* Sorts groups by their numbers; `other` is as much room. Returns where they are then. */
static Slot *sorted_groups(Slot *groups, Slot *other, size_t count) {
    uintptr_t low = UINTPTR_MAX, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = groups[i].number < low ? groups[i].number : low;
        high = groups[i].number > high ? groups[i].number : high;
    }
    for (int shift = 0; count && (high - low) >> shift; shift += DIGIT) {
        size_t starts[DIGITS + 1] = {0};
        for (size_t i = 0; i < count; i++) starts[((groups[i].number - low) >> shift & (DIGITS - 1)) + 1]++;
        for (int digit = 0; digit < DIGITS; digit++) starts[digit + 1] += starts[digit];
        for (size_t i = 0; i < count; i++) other[starts[(groups[i].number - low) >> shift & (DIGITS - 1)]++] = groups[i];
        Slot *swap = groups;
        groups = other;
        other = swap;
    }
    return groups;
}

/* Entries of the table by address. Returns how many, or NOWHERE where there is no memory. */
static size_t sorted_table(Entry **found) {
    lock_to_walk();
    size_t groups = 0, count = 0;
    for (size_t i = 0; i < capacity; i++)
        if (table[i].group && table[i].group->count) {
            groups++;
            count += table[i].group->count;
        }
    Slot *first = malloc((groups + 1) * sizeof *first), *second = malloc((groups + 1) * sizeof *second);
    *found = malloc((count + 1) * sizeof **found);
    if (first && second && *found) {
        size_t place = 0;
        for (size_t i = 0; i < capacity; i++)
            if (table[i].group && table[i].group->count) first[place++] = table[i];
        Slot *sorted = sorted_groups(first, second, groups);
        Entry *at = *found;
        for (size_t i = 0; i < groups; i++) {
            const Group *group = sorted[i].group;
            if (i + 4 < groups) __builtin_prefetch(sorted[i + 4].group);
            for (size_t step = 0, left = group->count; left; step++)
                if (group->sizes[step]) {
                    uint32_t size = group->sizes[step];
                    uintptr_t base = (group->number << GROUP_SHIFT) + (step << STEP_SHIFT);
                    *at++ = (Entry){base, size == LARGE ? large_size(base) : size};
                    left--;
                }
        }
    } else
        count = NOWHERE;
    unlock_table();
    free(first);
    free(second);
    return count;
}

static int by_base(const void *a, const void *b) {
    uintptr_t first = ((const Entry *)a)->base, second = ((const Entry *)b)->base;
    return first < second ? -1 : first > second;
}

/* Leaves out what shares a byte with another object: one of the two is gone then, and it is not known which. */
static size_t apart(Entry *entries, size_t count) {
    size_t kept = 0;
    uintptr_t end = 0; /* of all objects before */
    for (size_t i = 0; i < count; i++) {
        Entry entry = entries[i];
        int alone = entry.base >= end && (i + 1 == count || entry.base + entry.size <= entries[i + 1].base);
        end = entry.base + entry.size > end ? entry.base + entry.size : end;
        if (alone) entries[kept++] = entry;
    }
    return kept;
}

static int make_stretch(LiveObjects *objects, size_t from, size_t to) {
    const Entry *entries = objects->entries;
    Stretch *stretch = &objects->stretch[objects->stretches++];
    uintptr_t span = entries[to - 1].base - entries[from].base;
    *stretch = (Stretch){.low = entries[from].base, .high = entries[to - 1].base};
    while (span >> stretch->shift > to - from) stretch->shift++;
    stretch->buckets = (size_t)(span >> stretch->shift) + 1;
    stretch->first = malloc((stretch->buckets + 1) * sizeof *stretch->first);
    if (!stretch->first) return 0;
    size_t place = from;
    for (size_t bucket = 0; bucket < stretch->buckets; bucket++) {
        stretch->first[bucket] = (uint32_t)place;
        while (place < to && (entries[place].base - stretch->low) >> stretch->shift == bucket) place++;
    }
    stretch->first[stretch->buckets] = (uint32_t)to;
    return 1;
}

static int make_stretches(LiveObjects *objects) {
    for (size_t from = 0, to; from < objects->count; from = to) {
        int last = objects->stretches + 1 == STRETCHES;
        for (to = from + 1; to < objects->count; to++)
            if (!last && objects->entries[to].base - objects->entries[to - 1].base > STRETCH_GAP) break;
        if (!make_stretch(objects, from, to)) return 0;
    }
    return 1;
}

void tc_forget_live(LiveObjects *objects) {
    if (!objects) return;
    for (size_t i = 0; i < objects->stretches; i++) free(objects->stretch[i].first);
    free(objects->entries);
    free(objects);
}

/* The objects that are alive now: those of the table, and others that have bytes. NULL where there is no memory. */
LiveObjects *tc_live(const Entry *others, size_t more) {
    LiveObjects *objects = calloc(1, sizeof *objects);
    Entry *known = NULL, *further = malloc((more + 1) * sizeof *further);
    size_t count = objects && further ? sorted_table(&known) : NOWHERE, added = 0;
    Entry *all = count == NOWHERE || count + more > INT32_MAX - 1 ? NULL : malloc((count + more + 1) * sizeof *all);
    if (all) {
        for (size_t i = 0; i < more; i++)
            if (others[i].size) further[added++] = others[i];
        qsort(further, added, sizeof *further, by_base);
        for (size_t i = 0, j = 0; i < count || j < added;)
            if (j == added || (i < count && known[i].base <= further[j].base)) {
                all[i + j] = known[i];
                i++;
            } else {
                all[i + j] = further[j];
                j++;
            }
        objects->entries = all;
        objects->count = apart(all, count + added);
    }
    free(known);
    free(further);
    if (all && make_stretches(objects)) return objects;
    tc_forget_live(objects);
    return NULL;
}

/* Asks for what `last_at` is going to read, in two steps: the bucket of an address, and then its first object. */
static void expect(const LiveObjects *objects, uintptr_t address, int step) {
    const Stretch *stretch = objects->stretch;
    if (!objects->count || address < stretch->low) return;
    for (size_t i = 1; i < objects->stretches && objects->stretch[i].low <= address; i++) stretch++;
    if (address >= stretch->high) return;
    const uint32_t *first = stretch->first + ((address - stretch->low) >> stretch->shift);
    if (step) __builtin_prefetch(objects->entries + *first);
    else __builtin_prefetch(first);
}

/* The last object that begins at or before an address; NOWHERE for none. */
static size_t last_at(const LiveObjects *objects, uintptr_t address) {
    const Stretch *stretch = objects->stretch;
    if (!objects->count || address < stretch->low) return NOWHERE;
    for (size_t i = 1; i < objects->stretches && objects->stretch[i].low <= address; i++) stretch++;
    if (address >= stretch->high) return stretch->first[stretch->buckets] - 1;
    size_t bucket = (size_t)((address - stretch->low) >> stretch->shift);
    size_t from = stretch->first[bucket], to = stretch->first[bucket + 1];
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (objects->entries[middle].base <= address) from = middle + 1;
        else to = middle;
    }
    return from - 1; /* perhaps of an earlier bucket; there is one, since the stretch does not begin behind the address */
}
