/* The kernels for x86-64 with AVX2: Intel since Haswell, AMD since Zen. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,pclmul,popcnt,lzcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,pclmul,popcnt,lzcnt")
#endif
#define FF_TARGET_NAME "avx2"
#define FF_TARGET_TABLE ff_target_avx2
#include "target_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
