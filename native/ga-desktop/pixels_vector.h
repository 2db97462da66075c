/* Vector forms of bgrx_row_plain; pixels.c asks the processor before it uses one. */
#ifndef GD_PIXELS_VECTOR_H
#define GD_PIXELS_VECTOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
void bgrx_row_ssse3(uint8_t *rgb, const uint8_t *bgrx, size_t pixels);
void bgrx_row_avx2(uint8_t *rgb, const uint8_t *bgrx, size_t pixels);
void bgrx_row_stream(uint8_t *rgb, const uint8_t *bgrx, size_t pixels);
#elif defined(__aarch64__)
void bgrx_row_neon(uint8_t *rgb, const uint8_t *bgrx, size_t pixels);
#endif

#endif
