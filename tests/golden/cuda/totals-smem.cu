// tc_kernel_83: variant smem, sm_90; a readable export of the LLVM IR that its PTX is of.
// Launch: 15 blocks of 32 threads, 320 bytes of dynamic shared memory.
// Compile: nvcc -arch=sm_90 -fmad=false (which keeps the roundings of the PTX).
//
// Arguments:
//   order       array 0: old number of each job
//   base0       array 1: array 0, direct, local
//   data_base0  array 2: array 0, direct, old
//   bounds      array 3: jobs of each block
//   offsets0    array 4: offsets of space 0
//   data0       array 5: data of space 0
//   owner0      array 6: owned of space 0
//   array0      array 7: array 1
//   cell0       array 8: cell of %i51
//   cell1       array 9: cell of %i52
//   cell2       array 10: cell of %i53
//
// Arrays:
//   0  old number of each job: 2400 bytes, as the schedule has it
//   1  array 0, direct, local: 1200 bytes, as the schedule has it
//   2  array 0, direct, old: 2400 bytes
//   3  jobs of each block: 128 bytes, as the schedule has it
//   4  offsets of space 0: 128 bytes, as the schedule has it
//   5  data of space 0: 2176 bytes, as the schedule has it
//   6  owned of space 0: 60 bytes, as the schedule has it
//   7  array 1: 1600 bytes, object 1 of the program
//   8  cell of %i51: 8 bytes
//   9  cell of %i52: 8 bytes
//   10  cell of %i53: 8 bytes

static __device__ __forceinline__ unsigned long long tc_down_add_i64(unsigned long long value, unsigned int by)
{
    unsigned int low_moved = __shfl_down_sync(0xffffffffu, (unsigned int)value, by);
    unsigned int high_moved = __shfl_down_sync(0xffffffffu, (unsigned int)(value >> 32), by);
    return threadIdx.x + by < blockDim.x ? ((unsigned long long)high_moved << 32) | low_moved : 0ull;
}

static __device__ __forceinline__ double tc_down_maxnum_double(double value, unsigned int by)
{
    unsigned long long bits = __double_as_longlong(value);
    unsigned int low_moved = __shfl_down_sync(0xffffffffu, (unsigned int)bits, by);
    unsigned int high_moved = __shfl_down_sync(0xffffffffu, (unsigned int)(bits >> 32), by);
    double result = threadIdx.x + by < blockDim.x ? __longlong_as_double((long long)(((unsigned long long)high_moved << 32) | low_moved)) : __longlong_as_double(0xfff0000000000000ull);
    return result;
}

static __device__ __forceinline__ double tc_down_fadd_double(double value, unsigned int by)
{
    unsigned long long bits = __double_as_longlong(value);
    unsigned int low_moved = __shfl_down_sync(0xffffffffu, (unsigned int)bits, by);
    unsigned int high_moved = __shfl_down_sync(0xffffffffu, (unsigned int)(bits >> 32), by);
    double result = threadIdx.x + by < blockDim.x ? __longlong_as_double((long long)(((unsigned long long)high_moved << 32) | low_moved)) : -0.0;
    return result;
}

extern "C" __global__ void __launch_bounds__(32) tc_kernel_83(
    const unsigned int *__restrict__ order,
    const unsigned short *__restrict__ base0,
    const unsigned int *__restrict__ data_base0,
    const long long *__restrict__ bounds,
    const long long *__restrict__ offsets0,
    const unsigned int *__restrict__ data0,
    const unsigned char *__restrict__ owner0,
    const double *__restrict__ array0,
    unsigned long long *cell0,
    unsigned long long *cell1,
    double *cell2)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    double *const kept0 = (double *)shared_memory;
    long long low = __ldg(&bounds[blockIdx.x]);
    long long high = __ldg(&bounds[(long long)blockIdx.x + 1]);
    long long first0 = __ldg(&offsets0[blockIdx.x]);
    long long count0 = __ldg(&offsets0[(long long)blockIdx.x + 1]) - first0;
    // preload: data of this block → shared memory
    for (long long pre0_i = threadIdx.x; pre0_i < count0; pre0_i += blockDim.x) {
        unsigned int pre0_datum = __ldg(&data0[first0 + pre0_i]);
        kept0[pre0_i] = __ldg(&array0[pre0_datum]);
    }
    __syncthreads();
    long long round = low;
    // run: the jobs of this block, a turn of all threads after the other
    for (;;) {
        long long k = round + threadIdx.x;
        unsigned long long left0;
        double left1;
        double left2;
        if (k < high) {
            // the job
            unsigned short i56 = __ldg(&base0[k]);
            double i58 = kept0[i56];
            left0 = (int)(__ldg(&data_base0[k]) ^ __ldg(&order[k]));
            left1 = fmax(__longlong_as_double(0xfff0000000000000ull), i58);
            left2 = i58 * 0.7 + -0.0;
        } else {
            left0 = 0;
            left1 = __longlong_as_double(0xfff0000000000000ull);
            left2 = -0.0;
        }
        // what is left in registers
        unsigned long long moved0_16 = tc_down_add_i64(left0, 16);
        unsigned long long sum0_16 = left0 + moved0_16;
        unsigned long long moved0_8 = tc_down_add_i64(sum0_16, 8);
        unsigned long long sum0_8 = sum0_16 + moved0_8;
        unsigned long long moved0_4 = tc_down_add_i64(sum0_8, 4);
        unsigned long long sum0_4 = sum0_8 + moved0_4;
        unsigned long long moved0_2 = tc_down_add_i64(sum0_4, 2);
        unsigned long long sum0_2 = sum0_4 + moved0_2;
        unsigned long long moved0_1 = tc_down_add_i64(sum0_2, 1);
        double moved1_16 = tc_down_maxnum_double(left1, 16);
        double sum1_16 = fmax(left1, moved1_16);
        double moved1_8 = tc_down_maxnum_double(sum1_16, 8);
        double sum1_8 = fmax(sum1_16, moved1_8);
        double moved1_4 = tc_down_maxnum_double(sum1_8, 4);
        double sum1_4 = fmax(sum1_8, moved1_4);
        double moved1_2 = tc_down_maxnum_double(sum1_4, 2);
        double sum1_2 = fmax(sum1_4, moved1_2);
        double moved1_1 = tc_down_maxnum_double(sum1_2, 1);
        double sum1_1 = fmax(sum1_2, moved1_1);
        double moved2_16 = tc_down_fadd_double(left2, 16);
        double sum2_16 = left2 + moved2_16;
        double moved2_8 = tc_down_fadd_double(sum2_16, 8);
        double sum2_8 = sum2_16 + moved2_8;
        double moved2_4 = tc_down_fadd_double(sum2_8, 4);
        double sum2_4 = sum2_8 + moved2_4;
        double moved2_2 = tc_down_fadd_double(sum2_4, 2);
        double sum2_2 = sum2_4 + moved2_2;
        double moved2_1 = tc_down_fadd_double(sum2_2, 1);
        if ((threadIdx.x & 31) == 0) {
            atomicAdd(cell0, sum0_2 + moved0_1);
            unsigned long long cell1_swap_first = *(volatile unsigned long long *)cell1;
            unsigned long long cell1_swap_old = cell1_swap_first;
            for (;;) {
                unsigned long long cell1_swap_pair_seen = atomicCAS(cell1, cell1_swap_old, (unsigned long long)__double_as_longlong(fmax(__longlong_as_double((long long)cell1_swap_old), sum1_1)));
                if (cell1_swap_pair_seen == cell1_swap_old) {
                    break;
                }
                cell1_swap_old = cell1_swap_pair_seen;
            }
            atomicAdd(cell2, sum2_2 + moved2_1);
        }
        long long round_next = round + blockDim.x;
        if (round_next >= high) {
            break;
        }
        round = round_next;
    }
}
