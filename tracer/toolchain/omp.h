/* The OpenMP functions in a program that runs as one thread: its pragmas are ignored, and _OPENMP is not defined.
 *
 * With TRACECUT_OMP_ELSEWHERE they are those of a library that the program links, if it calls any: so it is where a
 * program has this header and is compiled without OpenMP. */
#ifndef TRACECUT_SERIAL_OMP_H
#define TRACECUT_SERIAL_OMP_H

#ifdef __GNUC__
#pragma GCC system_header
#endif

#ifndef TRACECUT_OMP_ELSEWHERE
#define TRACECUT_OMP static __inline
#define TRACECUT_IS(...) __VA_ARGS__
typedef int omp_lock_t;
typedef int omp_nest_lock_t;
#else
#define TRACECUT_OMP extern
#define TRACECUT_IS(...) ;
typedef struct { unsigned char bytes[4] __attribute__((aligned(4))); } omp_lock_t;
typedef struct { unsigned char bytes[8 + sizeof(void *)] __attribute__((aligned(sizeof(void *)))); } omp_nest_lock_t;
#ifdef __cplusplus
extern "C" {
#endif
#endif
typedef enum { omp_sched_static = 1, omp_sched_dynamic = 2, omp_sched_guided = 3, omp_sched_auto = 4 } omp_sched_t;

TRACECUT_OMP void omp_set_num_threads(int threads) TRACECUT_IS({ (void)threads; })
TRACECUT_OMP int omp_get_num_threads(void) TRACECUT_IS({ return 1; })
TRACECUT_OMP int omp_get_max_threads(void) TRACECUT_IS({ return 1; })
TRACECUT_OMP int omp_get_thread_num(void) TRACECUT_IS({ return 0; })
TRACECUT_OMP int omp_get_num_procs(void) TRACECUT_IS({ return 1; })
TRACECUT_OMP int omp_get_thread_limit(void) TRACECUT_IS({ return 1; })
TRACECUT_OMP int omp_in_parallel(void) TRACECUT_IS({ return 0; })
TRACECUT_OMP void omp_set_dynamic(int dynamic) TRACECUT_IS({ (void)dynamic; })
TRACECUT_OMP int omp_get_dynamic(void) TRACECUT_IS({ return 0; })
TRACECUT_OMP void omp_set_nested(int nested) TRACECUT_IS({ (void)nested; })
TRACECUT_OMP int omp_get_nested(void) TRACECUT_IS({ return 0; })
TRACECUT_OMP void omp_set_max_active_levels(int levels) TRACECUT_IS({ (void)levels; })
TRACECUT_OMP int omp_get_max_active_levels(void) TRACECUT_IS({ return 1; })
TRACECUT_OMP int omp_get_level(void) TRACECUT_IS({ return 0; })
TRACECUT_OMP int omp_get_active_level(void) TRACECUT_IS({ return 0; })
TRACECUT_OMP int omp_get_ancestor_thread_num(int level) TRACECUT_IS({ return level == 0 ? 0 : -1; })
TRACECUT_OMP int omp_get_team_size(int level) TRACECUT_IS({ return level == 0 ? 1 : -1; })
TRACECUT_OMP int omp_in_final(void) TRACECUT_IS({ return 1; })
TRACECUT_OMP void omp_set_schedule(omp_sched_t kind, int chunk) TRACECUT_IS({ (void)kind, (void)chunk; })
TRACECUT_OMP void omp_get_schedule(omp_sched_t *kind, int *chunk) TRACECUT_IS({ *kind = omp_sched_static, *chunk = 0; })

TRACECUT_OMP void omp_init_lock(omp_lock_t *lock) TRACECUT_IS({ *lock = 0; })
TRACECUT_OMP void omp_destroy_lock(omp_lock_t *lock) TRACECUT_IS({ *lock = 0; })
TRACECUT_OMP void omp_set_lock(omp_lock_t *lock) TRACECUT_IS({ *lock = 1; })
TRACECUT_OMP void omp_unset_lock(omp_lock_t *lock) TRACECUT_IS({ *lock = 0; })
TRACECUT_OMP int omp_test_lock(omp_lock_t *lock) TRACECUT_IS({ return *lock ? 0 : (*lock = 1); })
TRACECUT_OMP void omp_init_nest_lock(omp_nest_lock_t *lock) TRACECUT_IS({ *lock = 0; })
TRACECUT_OMP void omp_destroy_nest_lock(omp_nest_lock_t *lock) TRACECUT_IS({ *lock = 0; })
TRACECUT_OMP void omp_set_nest_lock(omp_nest_lock_t *lock) TRACECUT_IS({ ++*lock; })
TRACECUT_OMP void omp_unset_nest_lock(omp_nest_lock_t *lock) TRACECUT_IS({ --*lock; })
TRACECUT_OMP int omp_test_nest_lock(omp_nest_lock_t *lock) TRACECUT_IS({ return ++*lock; })

TRACECUT_OMP double omp_get_wtick(void) TRACECUT_IS({ return 1e-9; })
#ifdef TRACECUT_OMP_ELSEWHERE
extern double omp_get_wtime(void);
#ifdef __cplusplus
}
#endif
#else
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
#endif

#endif
