/* The kernels for x86-64 with AVX-512: Intel since Skylake-X, AMD since Zen 4. */
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,pclmul,popcnt,lzcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,pclmul,popcnt,lzcnt,prefer-vector-width=512")
#endif
#define FF_TARGET_NAME "avx512"
#define FF_TARGET_TABLE ff_target_avx512
#include "target_body.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
