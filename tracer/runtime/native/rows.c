/* Rows behind pointers as one array each. What they are, and the reference, is `tracer/legality/row_arenas.py`.
 *
 * Pointers are looked up where the columns of a table say that they lie. Each object that one leads to is a row; rows
 * are numbered in the order in which the columns, one after the other, name them first.
 */
typedef struct {
    uint64_t table;       /* the object that holds the pointers */
    int64_t bytes;        /* of it */
    char *copy;           /* of it, for the numbers */
    int64_t first, stride, count;
    const int64_t *offsets; /* of the pointers in the table; NULL: first + i · stride */
    int64_t pair;         /* an earlier column whose pointers are compared with these ones, or −1 */
} Column;

typedef struct {
    int64_t first, count;  /* its rows */
    uint64_t *place;       /* of each row: its address, bytes, bytes that are copied, and where it is in the arena */
    int64_t *size, *part, *start;
} Arena;

typedef struct {
    LiveObjects *objects;
    int32_t *row_of; /* each object's row; −1 for none, −2 for an array that a table's numbers lead into as it is */
    int64_t rows;
    int32_t columns;
    int32_t **row;   /* of each column of the table that was looked at last: the row of each pointer, −1 for none */
} RowTables;

enum { ROWS_NO_MEMORY = -1, ROWS_OUTSIDE = -2, ROWS_NONE = -3, ROWS_TWICE = -4, ROWS_PAIR = -5, ROWS_PAIR_UNKNOWN = -6,
       ROWS_MIDDLE = -7, ROWS_OF_ROWS = -8, ROWS_SEVERAL = -9, AHEAD = 32 /* pointers ahead of the one that is looked up */ };

enum { AS_IT_IS = -2 };

static int64_t offset_of(const Column *column, int64_t i) {
    return column->offsets ? column->offsets[i] : column->first + i * column->stride;
}

static uint64_t pointer_of(const Column *column, int64_t i) {
    uint64_t pointer;
    memcpy(&pointer, (const char *)(uintptr_t)column->table + offset_of(column, i), sizeof pointer);
    return pointer;
}

static void drop_columns(RowTables *rows) {
    for (int32_t c = 0; c < rows->columns; c++) free(rows->row[c]);
    free(rows->row);
    rows->row = NULL;
    rows->columns = 0;
}

void tc_rows_close(RowTables *rows) {
    if (!rows) return;
    drop_columns(rows);
    tc_forget_live(rows->objects);
    free(rows->row_of);
    free(rows);
}

/* A look at all objects of the program; `others` are those that the table of allocations does not know. */
RowTables *tc_rows_open(const Entry *others, size_t more) {
    RowTables *rows = calloc(1, sizeof *rows);
    if (!rows) return NULL;
    rows->objects = tc_live(others, more);
    if (rows->objects) rows->row_of = malloc((rows->objects->count + 1) * sizeof *rows->row_of);
    if (!rows->row_of) {
        tc_rows_close(rows);
        return NULL;
    }
    memset(rows->row_of, -1, rows->objects->count * sizeof *rows->row_of);
    return rows;
}

/* Which object each address lies in; none for what lies in a row, which is no object any more. */
void tc_rows_find(const RowTables *rows, const uint64_t *addresses, size_t count, Entry *found) {
    for (size_t i = 0; i < count; i++) {
        size_t place = last_at(rows->objects, (uintptr_t)addresses[i]);
        found[i] = (Entry){0, 0};
        if (place == NOWHERE || rows->row_of[place] >= 0) continue;
        Entry entry = rows->objects->entries[place];
        if (addresses[i] - entry.base < entry.size) found[i] = entry;
    }
}

/* The object that a pointer lies in, or ends; NOWHERE for null and for what lies in none. */
static size_t reached(const LiveObjects *objects, uint64_t pointer) {
    size_t place = last_at(objects, (uintptr_t)pointer);
    return place != NOWHERE && pointer - objects->entries[place].base <= objects->entries[place].size ? place : NOWHERE;
}

static void expect_at(const LiveObjects *objects, const Column *column, int64_t i, int step) {
    if (i >= column->count) return;
    int64_t offset = offset_of(column, i);
    if (offset >= 0 && offset <= column->bytes - 8) expect(objects, (uintptr_t)pointer_of(column, i), step);
}

/* Puts the object that each pointer of a column leads to in the place of its row, −1 for none. Pointers of one place in
   columns that follow each other lead to the same object most often (a row and its end): that one is tried first. */
static int look_up(RowTables *rows, const Column *columns, int32_t c) {
    const Column *column = &columns[c];
    const LiveObjects *objects = rows->objects;
    const int32_t *before = c && columns[c - 1].count == column->count ? rows->row[c - 1] : NULL;
    for (int64_t i = 0; i < column->count; i++) {
        int64_t offset = offset_of(column, i);
        if (offset < 0 || offset > column->bytes - 8) return ROWS_OUTSIDE;
        uint64_t pointer = pointer_of(column, i);
        size_t place = NOWHERE;
        for (int step = 0; step < 2 && !before; step++) expect_at(objects, column, i + (step ? AHEAD / 2 : AHEAD), step);
        if (before && before[i] >= 0) {
            size_t tried = (size_t)before[i], next = tried + 1;
            Entry entry = objects->entries[tried];
            if (pointer - entry.base <= entry.size && (next == objects->count || objects->entries[next].base != pointer))
                place = tried;
        }
        if (place == NOWHERE) place = reached(objects, pointer);
        rows->row[c][i] = place == NOWHERE ? -1 : (int32_t)place;
    }
    return 0;
}

static void free_arena(Arena *arena) {
    free(arena->place);
    free(arena->size);
    free(arena->part);
    free(arena->start);
    *arena = (Arena){0};
}

void tc_rows_forget(Arena *arena) { free_arena(arena); }

/* Numbers the objects in the order in which columns name them first. Returns how many there are. */
static int64_t number_rows(RowTables *rows, const Column *columns, int32_t count, Arena *arena) {
    size_t room = 1024;
    arena->first = rows->rows;
    arena->place = malloc(room * sizeof *arena->place);
    arena->size = malloc(room * sizeof *arena->size);
    if (!arena->place || !arena->size) return ROWS_NO_MEMORY;
    for (int32_t c = 0; c < count; c++)
        for (int64_t i = 0; i < columns[c].count; i++) {
            int32_t place = rows->row[c][i];
            if (i + AHEAD < columns[c].count && rows->row[c][i + AHEAD] >= 0) {
                __builtin_prefetch(&rows->row_of[rows->row[c][i + AHEAD]], 1);
                __builtin_prefetch(&rows->objects->entries[rows->row[c][i + AHEAD]]);
            }
            if (place < 0) continue;
            int32_t *row = &rows->row_of[place];
            if (*row == AS_IT_IS) return ROWS_TWICE;
            if (*row < 0) {
                size_t next = (size_t)(rows->rows - arena->first);
                if (next == room) {
                    room *= 2;
                    uint64_t *places = realloc(arena->place, room * sizeof *places);
                    if (places) arena->place = places;
                    int64_t *sizes = realloc(arena->size, room * sizeof *sizes);
                    if (sizes) arena->size = sizes;
                    if (!places || !sizes) return ROWS_NO_MEMORY;
                }
                arena->place[next] = rows->objects->entries[place].base;
                arena->size[next] = (int64_t)rows->objects->entries[place].size;
                *row = (int32_t)rows->rows++;
            } else if (*row < arena->first)
                return ROWS_TWICE;
            rows->row[c][i] = *row - (int32_t)arena->first;
        }
    return rows->rows - arena->first;
}

static int check_pair(const RowTables *rows, const Column *columns, int32_t c) {
    int64_t other = columns[c].pair;
    if (other < 0) return 0;
    for (int64_t i = 0; i < columns[c].count; i++) {
        if (rows->row[c][i] != rows->row[other][i]) return ROWS_PAIR;
        if (rows->row[c][i] < 0 && pointer_of(&columns[c], i) != pointer_of(&columns[other], i)) return ROWS_PAIR_UNKNOWN;
    }
    return 0;
}

/* Looks the pointers of a table up. Returns how many rows they lead to, or why not; `arena` is to be given back. */
int64_t tc_rows_look(RowTables *rows, const Column *columns, int32_t count, Arena *arena) {
    drop_columns(rows);
    rows->row = calloc((size_t)count + 1, sizeof *rows->row);
    if (!rows->row) return ROWS_NO_MEMORY;
    rows->columns = count;
    for (int32_t c = 0; c < count; c++) {
        rows->row[c] = malloc((size_t)(columns[c].count + 1) * sizeof **rows->row);
        if (!rows->row[c]) return ROWS_NO_MEMORY;
        int why = look_up(rows, columns, c);
        if (why) return why;
    }
    arena->count = number_rows(rows, columns, count, arena);
    for (int32_t c = 0; c < count && arena->count > 0; c++) {
        int why = check_pair(rows, columns, c);
        if (why) arena->count = why;
    }
    return arena->count ? arena->count : ROWS_NONE;
}

/* Lays the rows out: each begins at a multiple of `step`, the first one at `first`; `used` of so many rows says how much
   of each is copied. Returns the bytes of the arena. */
int64_t tc_rows_lay_out(Arena *arena, int64_t first, int64_t step, const int64_t *used, int64_t used_rows) {
    int64_t at = first;
    size_t bytes = (size_t)arena->count * sizeof *arena->start;
    arena->part = malloc(bytes);
    arena->start = malloc(bytes);
    if (!arena->part || !arena->start) return ROWS_NO_MEMORY;
    for (int64_t row = 0; row < arena->count; row++) {
        int64_t size = arena->size[row];
        arena->part[row] = used && used_rows == arena->count && used[row] < size ? used[row] : size;
        arena->start[row] = at;
        at += (size + step - 1) / step * step;
    }
    return at;
}

/* Writes the number of each row, in units, where the copies of a table have its pointers. `null_checked`: 0 is null
   alone, then. */
int64_t tc_rows_number(const RowTables *rows, const Column *columns, int32_t count, const Arena *arena, int64_t unit,
                       int32_t null_checked) {
    int shift = unit & (unit - 1) ? -1 : __builtin_ctzll((uint64_t)unit);
    for (int32_t c = 0; c < count; c++)
        for (int64_t i = 0; i < columns[c].count; i++) {
            int32_t row = rows->row[c][i];
            int64_t number = 0;
            if (row >= 0) {
                int64_t behind = (int64_t)(pointer_of(&columns[c], i) - arena->place[row]) + arena->start[row];
                number = shift < 0 ? behind / unit : behind >> shift;
                if (number * unit != behind) return ROWS_MIDDLE;
            } else if (null_checked && pointer_of(&columns[c], i)) number = -1;
            memcpy(columns[c].copy + offset_of(&columns[c], i), &number, sizeof number);
        }
    return 0;
}

/* Writes how many units behind the first of them each pointer of a table leads, where all lead into one array that stays
   where it is. The array is put to `found`. Returns where in it the numbers begin, or why not. */
int64_t tc_rows_in_place(RowTables *rows, const Column *columns, int32_t count, int64_t unit, Entry *found) {
    const LiveObjects *objects = rows->objects;
    size_t place = NOWHERE;
    uint64_t start = 0;
    for (int32_t c = 0; c < count; c++)
        for (int64_t i = 0; i < columns[c].count; i++) {
            int64_t offset = offset_of(&columns[c], i);
            if (offset < 0 || offset > columns[c].bytes - 8) return ROWS_OUTSIDE;
            uint64_t pointer = pointer_of(&columns[c], i);
            if (place == NOWHERE) {
                place = reached(objects, pointer);
                if (place == NOWHERE) return ROWS_SEVERAL;
                *found = objects->entries[place];
                start = found->base + (pointer - found->base) % (uint64_t)unit;
            }
            int next = place + 1 < objects->count && objects->entries[place + 1].base == pointer;
            if (pointer - found->base > found->size || next) return ROWS_SEVERAL;
            int64_t behind = (int64_t)(pointer - start);
            if (behind % unit) return ROWS_MIDDLE;
            int64_t number = behind / unit;
            memcpy(columns[c].copy + offset, &number, sizeof number);
        }
    if (place == NOWHERE) return ROWS_NONE;
    if (rows->row_of[place] >= 0) return ROWS_TWICE;
    rows->row_of[place] = AS_IT_IS;
    return (int64_t)(start - found->base);
}

/* Whether an object that a table lies in is a row itself. */
int64_t tc_rows_of_rows(const RowTables *rows, uint64_t table_base) {
    size_t place = last_at(rows->objects, (uintptr_t)table_base);
    return place != NOWHERE && rows->row_of[place] >= 0 ? ROWS_OF_ROWS : 0;
}

/* The ranges of pages that the copied rows of an arena lie in, by address. Returns how many; at most `room` are told. */
int64_t tc_rows_ranges(const RowTables *rows, const Arena *arena, uint64_t page, Entry *found, int64_t room) {
    int64_t count = 0;
    Entry open = {0, 0};
    for (size_t place = 0; place < rows->objects->count; place++) {
        int64_t row = rows->row_of[place] - arena->first;
        if (row < 0 || row >= arena->count || !arena->part[row]) continue;
        uintptr_t low = arena->place[row] / page * page;
        uintptr_t high = (arena->place[row] + (uint64_t)arena->part[row] - 1) / page * page + page;
        if (open.size && low <= open.base + open.size) {
            if (high > open.base + open.size) open.size = high - open.base;
            continue;
        }
        if (open.size && count++ < room) found[count - 1] = open;
        open = (Entry){low, high - low};
    }
    if (open.size && count++ < room) found[count - 1] = open;
    return count;
}
