#include "hlo/infer/custom_call_targets.h"

#include "hlo/ir/custom_call.h"
#include "hlo/ir/onednn_config.h"
#include "hlo/ir/untyped_lapack.h"

static const char *const own[] = {"Eigh", "ProductOfElementaryHouseholderReflectors", "Qr", "TopK"};

/* XLA's own, and what JAX had before there were typed calls. */
static bool is_known(StringView target) {
  char letter;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    if (sv_equal_cstring(target, own[i])) return true;
  }
  return custom_call_is_marker(target) || untyped_lapack_find(target, &letter) != NULL;
}

static bool is_known_call(const HloInstruction *call) {
  return custom_call_is_callback(call) || custom_call_pads_to_static(call) || custom_call_slices_to_dynamic(call);
}

/* Its configuration; whether its operands fit is seen when it is compiled. */
static Status check_onednn(const HloInstruction *call, DiagSink *diag) {
  Arena *arena = arena_create();
  OnednnConfig config;
  Status status = onednn_config_read(arena, call, diag, &config);
  arena_destroy(arena);
  return status;
}

static Status check_call(const HloInstruction *call, OutsideTargetFn *has_target, void *user, DiagSink *diag) {
  int64_t version = hlo_instruction_int(call, HLO_ATTR_API_VERSION, CUSTOM_CALL_API_VERSION_ORIGINAL);
  const HloAttr *target = hlo_instruction_attr(call, HLO_ATTR_CUSTOM_CALL_TARGET);
  if (onednn_target(call) != ONEDNN_NONE) return check_onednn(call, diag);
  if (version == CUSTOM_CALL_API_VERSION_TYPED_FFI || target == NULL || is_known(target->value.text) ||
      is_known_call(call))
    return STATUS_OK;
  if (has_target != NULL && has_target(user, target->value.text)) return STATUS_OK;
  Status status = diag_error(diag, STATUS_INVALID, call->loc, "unknown-target",
                             "nothing implements the untyped custom call to '%.*s'", SV_ARG(target->value.text));
  diag_note(diag, NO_LOC,
            "typed calls (api_version=API_VERSION_TYPED_FFI) may name any handler; of the untyped ones only XLA's own "
            "are known, and those of '--custom-call-library=FILE.so'");
  return status;
}

Status hlo_check_custom_call_targets(const HloModule *module, OutsideTargetFn *has_target, void *user, DiagSink *diag) {
  Status result = STATUS_OK;
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *instructions = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < instructions->count; i++) {
      if (instructions->data[i]->opcode != HLO_CUSTOM_CALL) continue;
      Status status = check_call(instructions->data[i], has_target, user, diag);
      if (status != STATUS_OK) result = status;
    }
  }
  return result;
}
