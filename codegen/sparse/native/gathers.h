/* Sums of a row with gather instructions of AVX-512. */
#if defined(GATHERS) && defined(__AVX512F__) && defined(__AVX512VL__)
#include <immintrin.h>

static inline f64 gathered_f64(u64 count, const u32 *columns, const f64 *values, const f64 *x)
{
    __m512d sums = _mm512_setzero_pd();
    for (; count >= 8; count -= 8, columns += 8, values += 8) {
        STREAMED(values + 128);
        STREAMED(columns + 256);
        __m256i at = _mm256_loadu_si256((const __m256i *)columns);
        sums = _mm512_fmadd_pd(_mm512_loadu_pd(values), _mm512_i32gather_pd(at, x, 8), sums);
    }
    if (count) {
        __mmask8 mask = (__mmask8)((1u << count) - 1);
        __m256i at = _mm256_maskz_loadu_epi32(mask, columns);
        __m512d got = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, at, x, 8);
        sums = _mm512_mask3_fmadd_pd(_mm512_maskz_loadu_pd(mask, values), got, sums, mask);
    }
    __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(sums), _mm512_extractf64x4_pd(sums, 1));
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return two[0] + two[1];
}

static inline f32 gathered_f32(u64 count, const u32 *columns, const f32 *values, const f32 *x)
{
    __m512 sums = _mm512_setzero_ps();
    for (; count >= 16; count -= 16, columns += 16, values += 16) {
        STREAMED(values + 256);
        STREAMED(columns + 256);
        sums = _mm512_fmadd_ps(_mm512_loadu_ps(values), _mm512_i32gather_ps(_mm512_loadu_si512(columns), x, 4), sums);
    }
    if (count) {
        __mmask16 mask = (__mmask16)((1u << count) - 1);
        __m512i at = _mm512_maskz_loadu_epi32(mask, columns);
        __m512 got = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, at, x, 4);
        sums = _mm512_mask3_fmadd_ps(_mm512_maskz_loadu_ps(mask, values), got, sums, mask);
    }
    __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(sums), _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(sums), 1)));
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return two[0] + two[1];
}
#define GATHER_f32 gathered_f32
#define GATHER_f64 gathered_f64
#endif
