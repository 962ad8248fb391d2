/* The kernels for what every CPU of the architecture has: SSE2 on x86-64, NEON on aarch64. */
#if defined(__x86_64__)
#define FF_TARGET_NAME "x86-64"
#elif defined(__aarch64__)
#define FF_TARGET_NAME "neon"
#else
#define FF_TARGET_NAME "baseline"
#endif
#define FF_TARGET_TABLE ff_target_baseline
#include "target_body.h"
