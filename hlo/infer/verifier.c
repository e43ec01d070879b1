#include "hlo/infer/infer_internal.h"
#include "hlo/infer/verifier_internal.h"

static void report(Verifier *verifier, SourceLoc loc, const char *code, const char *format, va_list arguments) {
  const char *message = arena_vprintf(verifier->scratch, format, arguments);
  verifier->has_failed = diag_error(verifier->diag, STATUS_INVALID, loc, code, "%s", message) != STATUS_OK;
}

void verify_error(Verifier *verifier, SourceLoc loc, const char *code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report(verifier, loc, code, format, arguments);
  va_end(arguments);
}

void verify_attr_error(Verifier *verifier, const HloInstruction *instruction, HloAttrId id, const char *code,
                       const char *format, ...) {
  const HloAttr *attr = hlo_instruction_attr(instruction, id);
  va_list arguments;
  va_start(arguments, format);
  report(verifier, attr != NULL && attr->loc.line != 0 ? attr->loc : instruction->loc, code, format, arguments);
  va_end(arguments);
}

const char *verify_text(Verifier *verifier, const Shape *shape) {
  return infer_shape_text(verifier->scratch, shape, false);
}

static void verify_instruction(Verifier *verifier, const HloInstruction *instruction) {
  verify_instruction_shape(verifier, instruction);
  verify_attributes(verifier, instruction);
  verify_sharding(verifier, instruction);
  verify_calls(verifier, instruction);
  verify_collective(verifier, instruction);
  verify_pairing(verifier, instruction);
  verify_host_channel(verifier, instruction);
  verify_constrained_layout(verifier, instruction);
  if (arena_used(verifier->scratch) > 0) arena_reset(verifier->scratch);
}

static void verify_module(Verifier *verifier) {
  verify_structure(verifier);
  if (verifier->has_failed) return;
  verify_header(verifier);
  for (int64_t i = 0; i < verifier->module->computations.count; i++) {
    const HloComputation *computation = verifier->module->computations.data[i];
    for (int64_t j = 0; j < computation->instructions.count; j++)
      verify_instruction(verifier, computation->instructions.data[j]);
  }
}

Status hlo_verify(const HloModule *module, DiagSink *diag) {
  Verifier verifier = {.module = module, .diag = diag, .arena = arena_create(), .scratch = arena_create()};
  int_map_init(&verifier.shapes, verifier.arena);
  int_map_init(&verifier.channels, verifier.arena);
  int_map_init(&verifier.loop_computations, verifier.arena);
  string_map_init(&verifier.buffer_writers, verifier.arena);
  verify_module(&verifier);
  arena_destroy(verifier.scratch);
  arena_destroy(verifier.arena);
  return verifier.has_failed ? STATUS_INVALID : STATUS_OK;
}
