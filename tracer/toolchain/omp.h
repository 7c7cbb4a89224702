/* The OpenMP functions in a program that runs as one thread: its pragmas are ignored, and _OPENMP is not defined. */
#ifndef TRACECUT_SERIAL_OMP_H
#define TRACECUT_SERIAL_OMP_H

#ifdef __GNUC__
#pragma GCC system_header
#endif

typedef int omp_lock_t;
typedef int omp_nest_lock_t;
typedef enum { omp_sched_static = 1, omp_sched_dynamic = 2, omp_sched_guided = 3, omp_sched_auto = 4 } omp_sched_t;

static __inline void omp_set_num_threads(int threads) { (void)threads; }
static __inline int omp_get_num_threads(void) { return 1; }
static __inline int omp_get_max_threads(void) { return 1; }
static __inline int omp_get_thread_num(void) { return 0; }
static __inline int omp_get_num_procs(void) { return 1; }
static __inline int omp_get_thread_limit(void) { return 1; }
static __inline int omp_in_parallel(void) { return 0; }
static __inline void omp_set_dynamic(int dynamic) { (void)dynamic; }
static __inline int omp_get_dynamic(void) { return 0; }
static __inline void omp_set_nested(int nested) { (void)nested; }
static __inline int omp_get_nested(void) { return 0; }
static __inline void omp_set_max_active_levels(int levels) { (void)levels; }
static __inline int omp_get_max_active_levels(void) { return 1; }
static __inline int omp_get_level(void) { return 0; }
static __inline int omp_get_active_level(void) { return 0; }
static __inline int omp_get_ancestor_thread_num(int level) { return level == 0 ? 0 : -1; }
static __inline int omp_get_team_size(int level) { return level == 0 ? 1 : -1; }
static __inline int omp_in_final(void) { return 1; }
static __inline void omp_set_schedule(omp_sched_t kind, int chunk) { (void)kind, (void)chunk; }
static __inline void omp_get_schedule(omp_sched_t *kind, int *chunk) { *kind = omp_sched_static, *chunk = 0; }

static __inline void omp_init_lock(omp_lock_t *lock) { *lock = 0; }
static __inline void omp_destroy_lock(omp_lock_t *lock) { *lock = 0; }
static __inline void omp_set_lock(omp_lock_t *lock) { *lock = 1; }
static __inline void omp_unset_lock(omp_lock_t *lock) { *lock = 0; }
static __inline int omp_test_lock(omp_lock_t *lock) { return *lock ? 0 : (*lock = 1); }
static __inline void omp_init_nest_lock(omp_nest_lock_t *lock) { *lock = 0; }
static __inline void omp_destroy_nest_lock(omp_nest_lock_t *lock) { *lock = 0; }
static __inline void omp_set_nest_lock(omp_nest_lock_t *lock) { ++*lock; }
static __inline void omp_unset_nest_lock(omp_nest_lock_t *lock) { --*lock; }
static __inline int omp_test_nest_lock(omp_nest_lock_t *lock) { return ++*lock; }

/* <time.h> has no struct timespec with -std=c99, and a program may define TIME_UTC itself: no name of it is used. */
struct tracecut_omp_time { long seconds, nanoseconds; };
#ifdef __cplusplus
extern "C"
#endif
int tracecut_omp_clock(int clock, struct tracecut_omp_time *now) __asm__("clock_gettime");

static __inline double omp_get_wtime(void)
{
    struct tracecut_omp_time now;
    tracecut_omp_clock(1, &now); /* CLOCK_MONOTONIC */
    return (double)now.seconds + 1e-9 * (double)now.nanoseconds;
}
static __inline double omp_get_wtick(void) { return 1e-9; }

#endif
