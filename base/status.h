/* Status: how a function that can fail says so.
 *
 * A Status moves control; the words for the user are in the DiagSink (base/diagnostic.h).  Outputs of a failing
 * function are unspecified unless its header says otherwise. */
#ifndef XLAC_BASE_STATUS_H
#define XLAC_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Status {
  STATUS_OK = 0,
  STATUS_INVALID,     /* the input is wrong */
  STATUS_UNSUPPORTED, /* the input is right, xlac cannot compile it */
  STATUS_EXHAUSTED,   /* a memory limit or Buffer is too small */
  STATUS_IO,          /* a file or system call failed */
  STATUS_MISMATCH     /* results differ from the expected ones */
} Status;

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))

/* Returns from the calling function with the status of |expression| unless it is STATUS_OK. */
#define RETURN_IF_ERROR(expression)                                         \
  do {                                                                      \
    Status return_if_error_status = (expression);                           \
    if (return_if_error_status != STATUS_OK) return return_if_error_status; \
  } while (0)

/* A broken invariant of xlac itself: ends the guarded call (base/guarded_call.h), or else writes file, line and message
 * to standard error and aborts.  Never for bad input. */
_Noreturn void xlac_bug_at(const char *file, int line, const char *format, ...) PRINTF_LIKE(3, 4);
#define XLAC_BUG(...) xlac_bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define XLAC_CHECK(condition)                                   \
  do {                                                          \
    if (!(condition)) XLAC_BUG("check failed: %s", #condition); \
  } while (0)

/* There is no memory, |bytes| more were needed (0: not known).  No error value, since the way back takes memory as
 * well: ends the guarded call; outside of one calls the handler, which ends the process and allocates nothing; without
 * one says so and aborts.  The handler is the process's, set by its main function; libraries set none. */
typedef void (*OutOfMemoryHandler)(size_t bytes);
void out_of_memory_set_handler(OutOfMemoryHandler handler);
_Noreturn void out_of_memory(size_t bytes);
/* Whether out_of_memory has somewhere to go: a guarded call or a handler. */
bool out_of_memory_is_handled(void);

#endif
