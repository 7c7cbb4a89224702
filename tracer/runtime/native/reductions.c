/* Reductions: operators by number, what they combine, and what has no effect on a result. */
#include <stdint.h>
#include <string.h>

static int rounds_downward(void);

enum { OP_ADD, OP_FADD, OP_MUL, OP_FMUL, OP_AND, OP_OR, OP_XOR, OP_SMIN, OP_SMAX, OP_UMIN, OP_UMAX, OP_FMIN, OP_FMAX,
       OP_LESS, OP_MORE }; /* the last two choose by a comparison, which is false for NaN */
enum { TYPE_I8, TYPE_I16, TYPE_I32, TYPE_I64, TYPE_F32, TYPE_F64 };

#define COMBINE(TYPE, FIELD)                                                                                      \
    {                                                                                                             \
        TYPE x, y;                                                                                                \
        memcpy(&x, a, sizeof x);                                                                                  \
        memcpy(&y, b, sizeof y);                                                                                  \
        FIELD;                                                                                                    \
        memcpy(a, &x, sizeof x);                                                                                  \
        return;                                                                                                   \
    }
#define INTEGERS(S, U)                                                                                            \
    switch (op) {                                                                                                 \
    case OP_ADD: COMBINE(U, x = (U)(x + y))                                                                       \
    case OP_MUL: COMBINE(U, x = (U)(x * y))                                                                       \
    case OP_AND: COMBINE(U, x &= y)                                                                               \
    case OP_OR: COMBINE(U, x |= y)                                                                                \
    case OP_XOR: COMBINE(U, x ^= y)                                                                               \
    case OP_SMIN: COMBINE(S, x = y < x ? y : x)                                                                   \
    case OP_SMAX: COMBINE(S, x = y > x ? y : x)                                                                   \
    case OP_UMIN: COMBINE(U, x = y < x ? y : x)                                                                   \
    case OP_UMAX: COMBINE(U, x = y > x ? y : x)                                                                   \
    }                                                                                                             \
    return;
#define REALS(R, MIN, MAX)                                                                                        \
    switch (op) {                                                                                                 \
    case OP_FADD: COMBINE(R, x += y)                                                                              \
    case OP_FMUL: COMBINE(R, x *= y)                                                                              \
    case OP_FMIN: COMBINE(R, x = MIN(x, y))                                                                       \
    case OP_FMAX: COMBINE(R, x = MAX(x, y))                                                                       \
    case OP_LESS: COMBINE(R, x = y < x ? y : x)                                                                   \
    case OP_MORE: COMBINE(R, x = y > x ? y : x)                                                                   \
    }                                                                                                             \
    return;

/* *a = *a op *b */
static void combine(void *a, const void *b, int32_t op, int32_t type) {
    switch (type) {
    case TYPE_I8: INTEGERS(int8_t, uint8_t)
    case TYPE_I16: INTEGERS(int16_t, uint16_t)
    case TYPE_I32: INTEGERS(int32_t, uint32_t)
    case TYPE_I64: INTEGERS(int64_t, uint64_t)
    case TYPE_F32: REALS(float, __builtin_fminf, __builtin_fmaxf)
    case TYPE_F64: REALS(double, __builtin_fmin, __builtin_fmax)
    }
}

static uint64_t bits_f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
static uint64_t bits_f32(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What is added without any effect: −0.0, since −0.0 + 0.0 is 0.0; rounding downward it is −0.0, and 0.0 has none. */
static uint64_t no_addend(int32_t type) {
    if (rounds_downward()) return 0;
    return type == TYPE_F32 ? bits_f32(-0.0f) : type == TYPE_F64 ? bits_f64(-0.0) : 0;
}

/* The value that changes nothing. */
static uint64_t identity(int32_t op, int32_t type) {
    int wide = 8 << (type & 3);
    uint64_t ones = ~UINT64_C(0), top = UINT64_C(1) << (wide - 1);
    switch (op) {
    case OP_FADD: return no_addend(type);
    case OP_FMUL: return type == TYPE_F32 ? bits_f32(1.0f) : bits_f64(1.0);
    case OP_FMIN: return type == TYPE_F32 ? bits_f32(__builtin_nanf("")) : bits_f64(__builtin_nan(""));
    case OP_FMAX: return type == TYPE_F32 ? bits_f32(__builtin_nanf("")) : bits_f64(__builtin_nan(""));
    case OP_LESS: return type == TYPE_F32 ? bits_f32(__builtin_inff()) : bits_f64(__builtin_inf());
    case OP_MORE: return type == TYPE_F32 ? bits_f32(-__builtin_inff()) : bits_f64(-__builtin_inf());
    case OP_MUL: return 1;
    case OP_AND: case OP_UMIN: return ones;
    case OP_SMIN: return top - 1;
    case OP_SMAX: return top;
    default: return 0;
    }
}

static int32_t width_of(int32_t type) {
    static const int32_t widths[] = {1, 2, 4, 8, 4, 8};
    return widths[type];
}
