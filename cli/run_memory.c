#include "cli/run_memory.h"

#include "base/checked_math.h"

/* What a process can address on x86-64. */
#define MOST_BYTES ((int64_t)1 << 47)

static int64_t limit_of(const Session *session) {
  return session_option_integer(session, OPTION_MEMORY_LIMIT, 0);
}

/* Adds the bytes of |tensors| to |total|; false when that is more than a process has. */
static bool add_tensors(const XlacTensor *tensors, int64_t count, int64_t *total) {
  for (int64_t i = 0; i < count; i++)
    if (!checked_add(*total, tensors[i].bytes, total) || *total > MOST_BYTES) return false;
  return true;
}

/* Arguments, results, what is prepared, temporaries and scratch of one worker; memory that an argument and a result
 * share counts once. INT64_MAX when there is no such number. */
static int64_t needed_bytes(const XlacDescriptor *descriptor) {
  int64_t total = descriptor->workspace_bytes;
  if (!checked_add(total, descriptor->prepared_bytes, &total)) return INT64_MAX;
  if (!add_tensors(descriptor->parameters, descriptor->parameter_count, &total)) return INT64_MAX;
  for (int64_t i = 0; i < descriptor->result_count; i++) {
    const XlacTensor *result = &descriptor->results[i];
    if (result->alias < 0 && !add_tensors(result, 1, &total)) return INT64_MAX;
  }
  return total;
}

int64_t run_memory_workers(const Session *session, const XlacDescriptor *descriptor, int64_t wanted) {
  int64_t limit = limit_of(session), scratch = descriptor->scratch_bytes_per_worker;
  if (limit == 0 || scratch == 0) return wanted;
  return min_i64(wanted, 1 + max_i64(limit - needed_bytes(descriptor), 0) / scratch);
}

Status run_memory_check_leaves(const Session *session, const XlacDescriptor *descriptor, int64_t devices,
                               bool is_compiled, int64_t *out_left) {
  int64_t leaves = 0, total = 0, limit = limit_of(session);
  SourceLoc loc = session->compilation.module->loc;
  *out_left = 0;
  bool fits = add_tensors(descriptor->parameters, descriptor->parameter_count, &leaves) &&
              add_tensors(descriptor->results, descriptor->result_count, &leaves) &&
              checked_mul(leaves, devices, &leaves) && checked_add(leaves, descriptor->workspace_bytes, &total) &&
              total <= MOST_BYTES;
  if (!fits)
    return diag_error(session->diag, STATUS_EXHAUSTED, loc, "memory-limit",
                      "arguments, results and workspace need more than the %lld bytes that a process can address",
                      (long long)MOST_BYTES);
  if (limit == 0) return STATUS_OK;
  /* Where there is code, the passes have counted them, those that share memory once. */
  if (!is_compiled && leaves >= limit)
    return diag_error(session->diag, STATUS_EXHAUSTED, loc, "memory-limit",
                      "the arguments and results alone need %lld bytes of the limit of %lld", (long long)leaves,
                      (long long)limit);
  *out_left = max_i64(limit - leaves, 0);
  return STATUS_OK;
}
