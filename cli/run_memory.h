/* What a run takes, against --memory-limit and what a process can address. */
#ifndef XLAC_CLI_RUN_MEMORY_H
#define XLAC_CLI_RUN_MEMORY_H

#include "cli/driver.h"

/* As many of |wanted| workers as the code that |descriptor| describes has scratch for within --memory-limit, at least
 * 1. */
int64_t run_memory_workers(const Session *session, const XlacDescriptor *descriptor, int64_t wanted);

/* Before the leaves and the workspace of |descriptor| are allocated, for each of |devices|: STATUS_EXHAUSTED
 * ("memory-limit") when they do not fit a process, or, where nothing is compiled, the leaves not --memory-limit.
 * |out_left|: what that leaves for values besides; 0: no limit. */
MUST_USE Status run_memory_check_leaves(const Session *session, const XlacDescriptor *descriptor, int64_t devices,
                                        bool is_compiled, int64_t *out_left);

#endif
