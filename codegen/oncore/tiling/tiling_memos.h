/* The memos of several Kernels on one machine, for who asks for plans of each in one room after another. */
#ifndef XLAC_CODEGEN_ONCORE_TILING_TILING_MEMOS_H
#define XLAC_CODEGEN_ONCORE_TILING_TILING_MEMOS_H

#include "codegen/oncore/tiling/tiling_memo.h"

typedef struct TilingMemos TilingMemos;

/* For |machine|, or others that differ from it by a smaller Buffer; it and the Kernels must outlive them.  With the
 * memos that others have asked for last, up to |most_bytes|, those that come next take: others begin anew.  The caller
 * ends them with tiling_memos_destroy (which accepts NULL).  Not for several threads at once. */
TilingMemos *tiling_memos_create(const MachineDescription *machine, size_t most_bytes);
void tiling_memos_destroy(TilingMemos *memos);

/* The memo of |kernel| where the Buffer has |held|, buffers by bit, as tiling_memo_hold has it, and |walked| are gone
 * through in memory's order (tiling_memo_walk).  Theirs, until the next one is asked for. */
TilingMemo *tiling_memos_find(TilingMemos *memos, const Kernel *kernel, uint64_t held, uint64_t walked);

/* Bytes that all of them have at present. */
size_t tiling_memos_used(const TilingMemos *memos);

#endif
