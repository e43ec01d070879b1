/* Host transfers of `xlac run`: what comes in is read from --infeed, what goes out is kept for --outfeed. */
#ifndef XLAC_CLI_HOST_TRANSFERS_H
#define XLAC_CLI_HOST_TRANSFERS_H

#include "cli/driver.h"
#include "runtime/arrays/array_file.h"

typedef struct HostTransfers {
  Session *session;
  ArrayFile source; /* members i0, i1 …: the leaves that infeeds and receives take, in the order of the run */
  bool has_source;
  int64_t next;
  ARRAY(ArrayMember) taken;     /* o0, o1 …: the leaves that outfeeds and sends gave */
  ARRAY(StringView) taken_text; /* "f32[2]" of each */
} HostTransfers;

/* Reads --infeed. */
MUST_USE Status host_transfers_init(HostTransfers *transfers, Session *session);
/* Before each run: it takes the same data, and what an earlier one gave is forgotten. */
void host_transfers_begin_run(HostTransfers *transfers);
/* XlacRunOptions.transfer; |transfers| is a HostTransfers. */
const char *host_transfers_do(void *transfers, const XlacTransfer *transfer);
/* The file of --outfeed. */
MUST_USE Status host_transfers_write(const HostTransfers *transfers);
/* What went out, as results are printed. */
void host_transfers_print(const HostTransfers *transfers, StringBuilder *out);

#endif
