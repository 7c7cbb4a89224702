// tc_kernel_91: variant smem, sm_90; a readable export of the LLVM IR that its PTX is of.
// Launch: 15 blocks of 32 threads, 1232 bytes of dynamic shared memory.
// Compile: nvcc -arch=sm_90 -fmad=false (which keeps the roundings of the PTX).
//
// Arguments:
//   order     array 0: old number of each job
//   base0     array 1: array 0, direct, local
//   base2     array 2: array 2, direct, local
//   bounds    array 3: jobs of each block
//   offsets0  array 4: offsets of space 0
//   data0     array 5: data of space 0
//   owner0    array 6: owned of space 0
//   array0    array 7: array 1
//   array1    array 8: array 3
//   array2    array 9: array 4
//
// Arrays:
//   0  old number of each job: 2400 bytes, as the schedule has it
//   1  array 0, direct, local: 1200 bytes, as the schedule has it
//   2  array 2, direct, local: 1200 bytes, as the schedule has it
//   3  jobs of each block: 128 bytes, as the schedule has it
//   4  offsets of space 0: 128 bytes, as the schedule has it
//   5  data of space 0: 3992 bytes, as the schedule has it
//   6  owned of space 0: 60 bytes, as the schedule has it
//   7  array 1: 1600 bytes, object 1 of the program
//   8  array 3: 1600 bytes, object 3 of the program
//   9  array 4: 200 bytes, object 4 of the program

static __device__ unsigned char tc_cas_u8(void *at, unsigned char expected, unsigned char wanted)
{
    unsigned int *word = (unsigned int *)((unsigned long long)at & ~3ull);
    unsigned int shift = 8u * (unsigned int)((unsigned long long)at & 3ull);
    unsigned int seen = *(volatile unsigned int *)word;
    for (;;) {
        unsigned char byte = (unsigned char)(seen >> shift);
        if (byte != expected)
            return byte;
        unsigned int next = (seen & ~(0xffu << shift)) | ((unsigned int)wanted << shift);
        unsigned int now = atomicCAS(word, seen, next);
        if (now == seen)
            return byte;
        seen = now;
    }
}

extern "C" __global__ void __launch_bounds__(32) tc_kernel_91(
    const unsigned int *__restrict__ order,
    const unsigned short *__restrict__ base0,
    const unsigned short *__restrict__ base2,
    const long long *__restrict__ bounds,
    const long long *__restrict__ offsets0,
    const unsigned int *__restrict__ data0,
    const unsigned int *__restrict__ owner0,
    const unsigned long long *__restrict__ array0,
    unsigned long long *array1,
    unsigned char *array2)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    unsigned long long *const kept0 = (unsigned long long *)shared_memory;
    unsigned long long *const kept1 = (unsigned long long *)(shared_memory + 576);
    unsigned char *const kept2 = (unsigned char *)(shared_memory + 1152);
    long long low = __ldg(&bounds[blockIdx.x]);
    long long high = __ldg(&bounds[(long long)blockIdx.x + 1]);
    long long first0 = __ldg(&offsets0[blockIdx.x]);
    long long count0 = __ldg(&offsets0[(long long)blockIdx.x + 1]) - first0;
    unsigned int owned0 = __ldg(&owner0[blockIdx.x]);
    // preload: data of this block → shared memory
    for (long long pre0_i = threadIdx.x; pre0_i < count0; pre0_i += blockDim.x) {
        unsigned int pre0_datum = __ldg(&data0[first0 + pre0_i]);
        kept0[pre0_i] = __ldg(&array0[pre0_datum]);
        kept1[pre0_i] = 1ll;
        kept2[pre0_i] = 0;
    }
    __syncthreads();
    long long round = low;
    // run: the jobs of this block, a turn of all threads after the other
    for (;;) {
        long long k = round + threadIdx.x;
        if (k < high) {
            // the job
            unsigned int i120_old = __ldg(&order[k]);
            unsigned short i123 = __ldg(&base0[k]);
            unsigned long long i127 = (long long)kept0[i123] % 2 + 3;
            unsigned short i130 = __ldg(&base2[k]);
            unsigned long long swap1_first = *(volatile unsigned long long *)&kept1[i130];
            unsigned long long swap1_old = swap1_first;
            for (;;) {
                unsigned long long swap1_pair_seen = atomicCAS(&kept1[i130], swap1_old, swap1_old * i127);
                if (swap1_pair_seen == swap1_old) {
                    break;
                }
                swap1_old = swap1_pair_seen;
            }
            unsigned char i138_old = (unsigned char)((unsigned int)(unsigned char)kept0[i130] + (unsigned char)i120_old);
            unsigned char swap0_first = *(volatile unsigned char *)&kept2[i123];
            unsigned char swap0_old = swap0_first;
            for (;;) {
                unsigned char swap0_pair_seen = tc_cas_u8(&kept2[i123], swap0_old, (unsigned char)((unsigned int)i138_old ^ swap0_old));
                if (swap0_pair_seen == swap0_old) {
                    break;
                }
                swap0_old = swap0_pair_seen;
            }
            // what is left in registers
        }
        long long round_next = round + blockDim.x;
        if (round_next >= high) {
            break;
        }
        round = round_next;
    }
    // flush: what was changed → global memory
    __syncthreads();
    for (long long post0_i = threadIdx.x; post0_i < count0; post0_i += blockDim.x) {
        unsigned int post0_datum = __ldg(&data0[first0 + post0_i]);
        unsigned long long post0_u1_0 = kept1[post0_i];
        unsigned char post0_u2_0 = kept2[post0_i];
        if (post0_i < owned0) {
            // data that only this block has
            array1[post0_datum] = array1[post0_datum] * post0_u1_0;
            array2[post0_datum] = (unsigned char)((unsigned int)array2[post0_datum] ^ post0_u2_0);
        } else {
            // data that several blocks have
            unsigned long long post0_u1_0_swap_first = *(volatile unsigned long long *)&array1[post0_datum];
            unsigned long long post0_u1_0_swap_old = post0_u1_0_swap_first;
            for (;;) {
                unsigned long long post0_u1_0_swap_pair_seen = atomicCAS(&array1[post0_datum], post0_u1_0_swap_old, post0_u1_0_swap_old * post0_u1_0);
                if (post0_u1_0_swap_pair_seen == post0_u1_0_swap_old) {
                    break;
                }
                post0_u1_0_swap_old = post0_u1_0_swap_pair_seen;
            }
            unsigned char post0_u2_0_swap_first = *(volatile unsigned char *)&array2[post0_datum];
            unsigned char post0_u2_0_swap_old = post0_u2_0_swap_first;
            for (;;) {
                unsigned char post0_u2_0_swap_pair_seen = tc_cas_u8(&array2[post0_datum], post0_u2_0_swap_old, (unsigned char)((unsigned int)post0_u2_0_swap_old ^ post0_u2_0));
                if (post0_u2_0_swap_pair_seen == post0_u2_0_swap_old) {
                    break;
                }
                post0_u2_0_swap_old = post0_u2_0_swap_pair_seen;
            }
        }
    }
}
