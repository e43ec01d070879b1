#include "codegen/oncore/tiling/tiling_memos.h"

typedef struct KernelMemo {
  const Kernel *kernel;
  uint64_t held, walked;
  TilingMemo *memo;
} KernelMemo;

struct TilingMemos {
  Arena *arena;
  const MachineDescription *machine;
  size_t most_bytes;
  ARRAY(KernelMemo) all; /* the one that was asked for last is the last */
};

TilingMemos *tiling_memos_create(const MachineDescription *machine, size_t most_bytes) {
  Arena *arena = arena_create();
  TilingMemos *memos = ARENA_NEW(arena, TilingMemos);
  *memos = (TilingMemos){.arena = arena, .machine = machine, .most_bytes = most_bytes};
  return memos;
}

void tiling_memos_destroy(TilingMemos *memos) {
  if (memos == NULL) return;
  for (int64_t i = 0; i < memos->all.count; i++) tiling_memo_destroy(memos->all.data[i].memo);
  arena_destroy(memos->arena);
}

size_t tiling_memos_used(const TilingMemos *memos) {
  size_t bytes = 0;
  for (int64_t i = 0; i < memos->all.count; i++) bytes += tiling_memo_used(memos->all.data[i].memo);
  return bytes;
}

static KernelMemo make_memo(const TilingMemos *memos, const Kernel *kernel, uint64_t held, uint64_t walked) {
  KernelMemo made = {.kernel = kernel, .held = held, .walked = walked};
  made.memo = tiling_memo_create(kernel, memos->machine, machine_buffer_usable(memos->machine));
  tiling_memo_walk(made.memo, walked);
  if (held == 0) return made;
  bool *is_held = ARENA_NEW_ARRAY(memos->arena, bool, kernel->buffer_count);
  for (int32_t b = 0; b < kernel->buffer_count && b < TILING_MEMO_BUFFERS; b++) is_held[b] = held >> b & 1;
  tiling_memo_hold(made.memo, is_held);
  return made;
}

static void take_out(TilingMemos *memos, int64_t place) {
  for (int64_t i = place; i + 1 < memos->all.count; i++) memos->all.data[i] = memos->all.data[i + 1];
  memos->all.count--;
}

static bool is_of(const KernelMemo *memo, const Kernel *kernel, uint64_t held, uint64_t walked) {
  return memo->kernel == kernel && memo->held == held && memo->walked == walked;
}

TilingMemo *tiling_memos_find(TilingMemos *memos, const Kernel *kernel, uint64_t held, uint64_t walked) {
  int64_t place = 0;
  while (place < memos->all.count && !is_of(&memos->all.data[place], kernel, held, walked)) place++;
  bool is_known = place < memos->all.count;
  KernelMemo found = is_known ? memos->all.data[place] : make_memo(memos, kernel, held, walked);
  if (is_known) take_out(memos, place);
  while (memos->all.count > 0 && tiling_memos_used(memos) > memos->most_bytes) {
    tiling_memo_destroy(memos->all.data[0].memo);
    take_out(memos, 0);
  }
  array_push(&memos->all, memos->arena, found);
  return found.memo;
}
