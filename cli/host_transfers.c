#include "cli/host_transfers.h"

#include "base/array.h"
#include "runtime/arrays/array_text.h"
#include "runtime/arrays/tensor_values.h"

Status host_transfers_init(HostTransfers *transfers, Session *session) {
  *transfers = (HostTransfers){.session = session, .has_source = session_option_given(session, OPTION_INFEED)};
  if (!transfers->has_source) return STATUS_OK;
  return array_file_read(session->arena, session_option_text(session, OPTION_INFEED, ""), session->diag,
                         &transfers->source);
}

void host_transfers_begin_run(HostTransfers *transfers) {
  transfers->next = transfers->taken.count = transfers->taken_text.count = 0;
}

/* NULL, or why it cannot be. */
static const char *fill(HostTransfers *transfers, const XlacTensor *tensor, void *data) {
  Arena *arena = transfers->session->arena;
  StringView name = sv_printf(arena, "i%lld", (long long)transfers->next++);
  if (!transfers->has_source) return "there is no '--infeed=FILE.npz' to take data from";
  const NpyArray *array = array_file_find(&transfers->source, name);
  if (array == NULL) return arena_printf(arena, "'%.*s' has no '%.*s'", SV_ARG(transfers->source.path), SV_ARG(name));
  DiagSink told;
  diag_sink_init(&told, arena);
  if (tensor_from_npy(arena, tensor, array, name, &told, data) == STATUS_OK) return NULL;
  return arena_copy_string(arena, told.first->message.data, told.first->message.size);
}

static void keep(HostTransfers *transfers, const XlacTensor *tensor, const void *data) {
  Arena *arena = transfers->session->arena;
  ArrayMember member = {.name = sv_printf(arena, "o%lld", (long long)transfers->taken.count)};
  tensor_to_npy(arena, tensor, data, &member.array);
  array_push(&transfers->taken, arena, member);
  array_push(&transfers->taken_text, arena, tensor_text(arena, tensor));
}

const char *host_transfers_do(void *self, const XlacTransfer *transfer) {
  HostTransfers *transfers = self;
  bool comes_in = transfer->kind == XLAC_INFEED || transfer->kind == XLAC_RECV;
  const char *mistake = NULL;
  for (int64_t i = 0; i < transfer->leaf_count && mistake == NULL; i++) {
    if (comes_in)
      mistake = fill(transfers, &transfer->leaves[i], transfer->data[i]);
    else
      keep(transfers, &transfer->leaves[i], transfer->data[i]);
  }
  return mistake;
}

Status host_transfers_write(const HostTransfers *transfers) {
  Session *session = transfers->session;
  if (!session_option_given(session, OPTION_OUTFEED)) return STATUS_OK;
  const char *path = session_option_text(session, OPTION_OUTFEED, "");
  StringView bytes;
  RETURN_IF_ERROR(
      array_file_write(session->arena, path, transfers->taken.data, transfers->taken.count, session->diag, &bytes));
  return driver_add_output(session, path, bytes);
}

void host_transfers_print(const HostTransfers *transfers, StringBuilder *out) {
  if (session_option_given(transfers->session, OPTION_OUTFEED)) return;
  for (int64_t i = 0; i < transfers->taken.count; i++) {
    const ArrayMember *member = &transfers->taken.data[i];
    sb_printf(out, "%.*s %.*s\n", SV_ARG(member->name), SV_ARG(transfers->taken_text.data[i]));
    array_print(out, &member->array);
    sb_append_char(out, '\n');
  }
}
