// tc_kernel_6: variant smem, sm_90; a readable export of the LLVM IR that its PTX is of.
// Launch: 15 blocks of 32 threads, 864 bytes of dynamic shared memory.
// Compile: nvcc -arch=sm_90 -fmad=false (which keeps the roundings of the PTX).
//
// Arguments:
//   base0     array 0: array 0, offsets, local
//   base2     array 1: array 2, segment
//   base3     array 2: array 3, segment, local
//   base1     array 3: array 1
//   bounds    array 4: jobs of each block
//   begins    array 5: first piece of each block
//   offsets0  array 6: offsets of space 0
//   data0     array 7: data of space 0
//   owner0    array 8: owned of space 0
//   array0    array 9: array 4
//
// Arrays:
//   0  array 0, offsets, local: 1202 bytes, as the schedule has it
//   1  array 2, segment: 14568 bytes
//   2  array 3, segment, local: 3642 bytes, as the schedule has it
//   3  array 1: 4800 bytes, object 1 of the program
//   4  jobs of each block: 128 bytes, as the schedule has it
//   5  first piece of each block: 60 bytes, as the schedule has it
//   6  offsets of space 0: 128 bytes, as the schedule has it
//   7  data of space 0: 5488 bytes, as the schedule has it
//   8  owned of space 0: 60 bytes, as the schedule has it
//   9  array 4: 1600 bytes, object 4 of the program

extern "C" __global__ void __launch_bounds__(32) tc_kernel_6(
    const unsigned short *__restrict__ base0,
    const unsigned long long *__restrict__ base2,
    const unsigned short *__restrict__ base3,
    unsigned long long *base1,
    const long long *__restrict__ bounds,
    const int *__restrict__ begins,
    const long long *__restrict__ offsets0,
    const unsigned int *__restrict__ data0,
    const unsigned char *__restrict__ owner0,
    const unsigned long long *__restrict__ array0)
{
    extern __shared__ __align__(16) unsigned char shared_memory[];
    unsigned long long *const kept0 = (unsigned long long *)shared_memory;
    long long low = __ldg(&bounds[blockIdx.x]);
    long long high = __ldg(&bounds[(long long)blockIdx.x + 1]);
    int begin = __ldg(&begins[blockIdx.x]);
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
        if (k < high) {
            // the job
            int i127 = (((unsigned int)__ldg(&base0[k]) - begin) & 65535) + begin;
            int i130 = (((unsigned int)__ldg(&base0[k + 1]) - begin) & 65535) + begin;
            unsigned long long i135;
            if (i127 < i130) {
                long long i139 = i127;
                unsigned long long i140 = 0;
                unsigned long long lcssa43;
                for (;;) {
                    unsigned short i145 = __ldg(&base3[i139]);
                    unsigned long long i149 = kept0[i145] * __ldg(&base2[i139]) + i140;
                    long long i150 = i139 + 1;
                    if (i150 == i130) {
                        lcssa43 = i149;
                        break;
                    }
                    i139 = i150;
                    i140 = i149;
                }
                i135 = lcssa43;
            } else {
                i135 = 0;
            }
            base1[k] = i135;
            // what is left in registers
        }
        long long round_next = round + blockDim.x;
        if (round_next >= high) {
            break;
        }
        round = round_next;
    }
}
