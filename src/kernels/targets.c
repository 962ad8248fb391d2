/* The table of CPU targets, and the one in use. */
#include "fastfilter/target.h"

extern const ff_target ff_target_baseline, ff_target_scalar;
#if defined(__x86_64__)
extern const ff_target ff_target_avx512, ff_target_avx2;
#endif

const ff_target *ff_target_in_use = &ff_target_baseline;

static const ff_target *const targets[] = {
#if defined(__x86_64__)
    &ff_target_avx512, &ff_target_avx2,
#endif
    &ff_target_baseline, &ff_target_scalar, NULL,
};

const ff_target *ff_target_at(int number) {
    return targets[number];
}

bool ff_target_runs(const ff_target *target) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (target == &ff_target_avx512) {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("pclmul");
    }
    if (target == &ff_target_avx2) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
               __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
    }
#endif
    return target != NULL;
}
