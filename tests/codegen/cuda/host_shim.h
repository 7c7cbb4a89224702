// Just enough of CUDA to run one block after the other on a host: each thread of a block has a stack of its own, and
// they take turns where they wait for each other.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __global__
#define __device__
#define __shared__
#define __forceinline__ inline
#define __restrict__ __restrict
#define __launch_bounds__(n)
#define __align__(n) __attribute__((aligned(n)))

struct dim3_of_host { unsigned int x, y, z; };
static dim3_of_host threadIdx, blockIdx, blockDim, gridDim;

struct HostBarrier { unsigned int waiting, turn, size; };
struct HostWarp { HostBarrier barrier; unsigned long long value[32]; };
static HostBarrier host_block;
static HostWarp host_warps[32];
static ucontext_t host_scheduler, host_threads[1024];

static inline void host_wait(HostBarrier &barrier)
{
    unsigned int turn = barrier.turn, me = threadIdx.x;
    if (++barrier.waiting == barrier.size)
        barrier.waiting = 0, barrier.turn++;
    while (turn == barrier.turn) {
        swapcontext(&host_threads[me], &host_scheduler);
        threadIdx.x = me;
    }
}
static inline void __syncthreads() { host_wait(host_block); }
static inline void __threadfence() {}
static inline void __trap() { __builtin_trap(); }

template <class T> static T __shfl_down_sync(unsigned int, T value, unsigned int by)
{
    HostWarp &warp = host_warps[threadIdx.x / 32];
    unsigned int lane = threadIdx.x % 32;
    memcpy(&warp.value[lane], &value, sizeof value);
    host_wait(warp.barrier);
    T found = value;
    if (lane + by < 32)
        memcpy(&found, &warp.value[lane + by], sizeof found);
    host_wait(warp.barrier);
    return found;
}

template <class T> static T __ldg(const T *at) { return *at; }
template <class T> static T __ldcs(const T *at) { return *at; }
template <class T> static void __stcs(T *at, T value) { *at = value; }

template <class T, class F> static T host_atomic(T *at, F next)
{
    T before = *(volatile T *)at;
    *(volatile T *)at = next(before);
    return before;
}
// As in CUDA, there is one of these for each type that it has, and no other.
#define HOST_ATOMIC(name, T, next) \
    static inline T name(T *at, T v) { return host_atomic(at, [v](T old) -> T { return next; }); }
HOST_ATOMIC(atomicAdd, int, (int)((unsigned int)old + (unsigned int)v))
HOST_ATOMIC(atomicAdd, unsigned int, old + v)
HOST_ATOMIC(atomicAdd, unsigned long long, old + v)
HOST_ATOMIC(atomicAdd, float, old + v)
HOST_ATOMIC(atomicAdd, double, old + v)
#define HOST_INTEGERS(T) \
    HOST_ATOMIC(atomicAnd, T, old & v) \
    HOST_ATOMIC(atomicOr, T, old | v) \
    HOST_ATOMIC(atomicXor, T, old ^ v) \
    HOST_ATOMIC(atomicExch, T, ((void)old, v))
HOST_INTEGERS(int)
HOST_INTEGERS(unsigned int)
HOST_INTEGERS(unsigned long long)
#define HOST_ORDERED(T) \
    HOST_ATOMIC(atomicMin, T, old < v ? old : v) \
    HOST_ATOMIC(atomicMax, T, old > v ? old : v)
HOST_ORDERED(int)
HOST_ORDERED(unsigned int)
HOST_ORDERED(long long)
HOST_ORDERED(unsigned long long)
#define HOST_CAS(T) \
    static inline T atomicCAS(T *at, T expected, T wanted) \
    { return host_atomic(at, [=](T old) -> T { return old == expected ? wanted : old; }); }
HOST_CAS(int)
HOST_CAS(unsigned short)
HOST_CAS(unsigned int)
HOST_CAS(unsigned long long)

template <class To, class From> static To host_bits(From value)
{
    To found;
    static_assert(sizeof found == sizeof value, "");
    memcpy(&found, &value, sizeof found);
    return found;
}
static inline double __longlong_as_double(long long v) { return host_bits<double>(v); }
static inline long long __double_as_longlong(double v) { return host_bits<long long>(v); }
static inline float __int_as_float(int v) { return host_bits<float>(v); }
static inline int __float_as_int(float v) { return host_bits<int>(v); }
static inline int __popc(unsigned int v) { return __builtin_popcount(v); }
static inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
static inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
static inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
template <class T> static T min(T a, T b) { return b < a ? b : a; }
template <class T> static T max(T a, T b) { return a < b ? b : a; }

static void (*host_call)(void *, void **);
static void *host_kernel, **host_arguments;
static bool host_done[1024];

static void host_thread()
{
    unsigned int me = threadIdx.x;
    host_call(host_kernel, host_arguments);
    host_done[me] = true;
}

static void host_grid(unsigned int blocks, unsigned int threads)
{
    const size_t stack = 1 << 16;
    char *stacks = (char *)malloc(threads * stack);
    blockDim = {threads, 1, 1}, gridDim = {blocks, 1, 1};
    for (unsigned int block = 0; block < blocks; block++) {
        blockIdx = {block, 0, 0};
        host_block = {0, 0, threads};
        for (unsigned int warp = 0; warp * 32 < threads; warp++)
            host_warps[warp].barrier = {0, 0, threads - warp * 32 < 32 ? threads - warp * 32 : 32};
        for (unsigned int thread = 0; thread < threads; thread++) {
            getcontext(&host_threads[thread]);
            host_threads[thread].uc_stack.ss_sp = stacks + thread * stack;
            host_threads[thread].uc_stack.ss_size = stack;
            host_threads[thread].uc_link = &host_scheduler;
            host_done[thread] = false;
            makecontext(&host_threads[thread], host_thread, 0);
        }
        for (unsigned int left = threads; left;) {
            left = 0;
            for (unsigned int thread = 0; thread < threads; thread++) {
                if (host_done[thread])
                    continue;
                threadIdx = {thread, 0, 0};
                swapcontext(&host_scheduler, &host_threads[thread]);
                left += !host_done[thread];
            }
        }
    }
    free(stacks);
}

template <class... A> struct HostCall {
    template <size_t... N> struct Numbers {};
    template <size_t K, size_t... N> struct Count : Count<K - 1, K - 1, N...> {};
    template <size_t... N> struct Count<0, N...> { typedef Numbers<N...> type; };
    template <size_t... N> static void spread(void (*kernel)(A...), void **arguments, Numbers<N...>)
    {
        kernel(*(A *)arguments[N]...);
    }
    static void call(void *kernel, void **arguments)
    {
        spread((void (*)(A...))kernel, arguments, typename Count<sizeof...(A)>::type());
    }
};
template <class... A>
static void host_launch(void (*kernel)(A...), void **arguments, unsigned int blocks, unsigned int threads)
{
    host_call = HostCall<A...>::call, host_kernel = (void *)kernel, host_arguments = arguments;
    host_grid(blocks, threads);
}
