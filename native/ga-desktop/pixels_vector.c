#include "pixels_vector.h"

#include "pixels.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Four pixels to 12 bytes of RGB at the low end of the register. */
#define ORDER 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1

/* Sixteen pixels to three registers. */
#define SIXTEEN(from, to, store)                                                        \
    do {                                                                                \
        const __m128i order = _mm_setr_epi8(ORDER);                                     \
        __m128i a = _mm_shuffle_epi8(_mm_loadu_si128(from), order);                     \
        __m128i b = _mm_shuffle_epi8(_mm_loadu_si128((from) + 1), order);               \
        __m128i c = _mm_shuffle_epi8(_mm_loadu_si128((from) + 2), order);               \
        __m128i d = _mm_shuffle_epi8(_mm_loadu_si128((from) + 3), order);               \
        store(to, _mm_or_si128(a, _mm_slli_si128(b, 12)));                              \
        store((to) + 1, _mm_or_si128(_mm_srli_si128(b, 4), _mm_slli_si128(c, 8)));      \
        store((to) + 2, _mm_or_si128(_mm_srli_si128(c, 8), _mm_slli_si128(d, 4)));      \
    } while (0)

__attribute__((target("ssse3"))) void bgrx_row_ssse3(uint8_t *rgb, const uint8_t *bgrx, size_t pixels) {
    size_t i = 0;
    for (; i + 16 <= pixels; i += 16)
        SIXTEEN((const __m128i *)(bgrx + 4 * i), (__m128i *)(rgb + 3 * i), _mm_storeu_si128);
    bgrx_row_plain(rgb + 3 * i, bgrx + 4 * i, pixels - i);
}

/* Past the cache, into which the old pixels would be fetched first. */
__attribute__((target("ssse3"))) void bgrx_row_stream(uint8_t *rgb, const uint8_t *bgrx, size_t pixels) {
    size_t i = 0;
    while (i < pixels && (uintptr_t)(rgb + 3 * i) % 16) i++; /* such stores must be aligned */
    bgrx_row_plain(rgb, bgrx, i);
    for (; i + 16 <= pixels; i += 16)
        SIXTEEN((const __m128i *)(bgrx + 4 * i), (__m128i *)(rgb + 3 * i), _mm_stream_si128);
    _mm_sfence(); /* they keep no order with what comes later */
    bgrx_row_plain(rgb + 3 * i, bgrx + 4 * i, pixels - i);
}

/* Eight pixels to 24 bytes at the low end of the register. */
__attribute__((target("avx2"))) static inline __m256i eight(const uint8_t *bgrx, __m256i order, __m256i join) {
    __m256i pixels = _mm256_loadu_si256((const __m256i *)bgrx);
    return _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(pixels, order), join);
}

__attribute__((target("avx2"))) void bgrx_row_avx2(uint8_t *rgb, const uint8_t *bgrx, size_t pixels) {
    const __m256i order = _mm256_setr_epi8(ORDER, ORDER);
    const __m256i join = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
    size_t i = 0;
    /* Each store writes 8 bytes too many, which the next one overwrites: stop while they still fall inside the row. */
    for (; i + 35 <= pixels; i += 32) {
        const uint8_t *from = bgrx + 4 * i;
        uint8_t *to = rgb + 3 * i;
        _mm256_storeu_si256((__m256i *)to, eight(from, order, join));
        _mm256_storeu_si256((__m256i *)(to + 24), eight(from + 32, order, join));
        _mm256_storeu_si256((__m256i *)(to + 48), eight(from + 64, order, join));
        _mm256_storeu_si256((__m256i *)(to + 72), eight(from + 96, order, join));
    }
    bgrx_row_ssse3(rgb + 3 * i, bgrx + 4 * i, pixels - i);
}

#elif defined(__aarch64__)
#include <arm_neon.h>

void bgrx_row_neon(uint8_t *rgb, const uint8_t *bgrx, size_t pixels) {
    size_t i = 0;
    for (; i + 16 <= pixels; i += 16) {
        uint8x16x4_t from = vld4q_u8(bgrx + 4 * i);
        uint8x16x3_t to = {{from.val[2], from.val[1], from.val[0]}};
        vst3q_u8(rgb + 3 * i, to);
    }
    bgrx_row_plain(rgb + 3 * i, bgrx + 4 * i, pixels - i);
}
#endif
