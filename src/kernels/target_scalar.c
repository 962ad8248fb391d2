/* The kernels without vector instructions: the judge of the others. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif
#define FF_SCALAR_TARGET
#define FF_TARGET_NAME "scalar"
#define FF_TARGET_TABLE ff_target_scalar
#include "target_body.h"
