/* What calls out of a module need once: targets, and support written in LLVM's language (*.ll). */
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_map.h"
#include "codegen/call/call_internal.h"
#include "codegen/ir/ir_support.h"
#include "hlo/ir/custom_call.h"
#include "xlac/abi.h"
#include "xlac/ffi.h"

/* What the texts say in numbers. */
_Static_assert(offsetof(XlacRunOptions, on_failure) == 56 && offsetof(XlacRunOptions, failure_data) == 64 &&
                   XLAC_CALL_FAILED == 1 && sizeof(XlacFailure) == 24,
               "failure.ll knows these");
_Static_assert(offsetof(XlacRunOptions, transfer) == 72 && offsetof(XlacRunOptions, transfer_data) == 80,
               "transfer.ll knows these");
_Static_assert(offsetof(XlacRunOptions, constants) == 104 && offsetof(XlacRunOptions, oncore_run) == 112 &&
                   offsetof(XlacConstants, bytes) == 8 && offsetof(XlacConstants, hash) == 16,
               "constants.ll knows these");
_Static_assert(offsetof(XlacRunOptions, prepared) == 120 && sizeof(XlacRunOptions) == 128, "prepared.ll knows these");
_Static_assert(sizeof(XLA_FFI_Api) == 192 && offsetof(XLA_FFI_Api, XLA_FFI_Error_Create) == 48 &&
                   sizeof(XLA_FFI_Api_Version) == 24 && offsetof(XLA_FFI_Error_Create_Args, message) == 16 &&
                   offsetof(XLA_FFI_Error_GetMessage_Args, message) == 24 &&
                   offsetof(XLA_FFI_ThreadPool_Schedule_Args, data) == 32 &&
                   offsetof(XLA_FFI_ThreadPool_NumThreads_Args, num_threads) == 24 &&
                   offsetof(XLA_FFI_Future_SetError_Args, error) == 24 &&
                   offsetof(XLA_FFI_DeviceOrdinal_Get_Args, device_ordinal) == 24,
               "typed_call.ll knows these");

/* The assembler reads the files while this one is compiled, from the root. */
#define SUPPORT(name)                                                                                               \
  __asm__(".pushsection .rodata\nxlac_call_" #name ":\n.incbin \"codegen/call/" #name ".ll\"\nxlac_call_end_" #name \
          ":\n.byte 0\n.popsection\n");                                                                             \
  extern const char xlac_call_##name[], xlac_call_end_##name[];
SUPPORT(failure)
SUPPORT(typed_call)
SUPPORT(call_status)
SUPPORT(transfer)
SUPPORT(constants)
SUPPORT(prepared)

/* --- targets --- */

StringView call_target(const HloInstruction *call) {
  return custom_call_target(call);
}

CustomCallApiVersion call_version(const HloInstruction *call) {
  return (CustomCallApiVersion)hlo_instruction_int(call, HLO_ATTR_API_VERSION, CUSTOM_CALL_API_VERSION_ORIGINAL);
}

/* Any bytes are a symbol for an object; a C compiler has them by asm labels. */
LLVMValueRef call_declared_target(LLVMModuleRef llvm_module, StringView symbol, Arena *arena) {
  LLVMContextRef context = LLVMGetModuleContext(llvm_module);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, true); /* each call has its own */
  const char *name = arena_copy_string(arena, symbol.data, symbol.size);
  LLVMValueRef known = LLVMGetNamedFunction(llvm_module, name);
  return known != NULL ? known : LLVMAddFunction(llvm_module, name, type);
}

CallTargets call_targets(Arena *arena, const HloModule *module) {
  ARRAY(CallTarget) targets = {0};
  StringMap seen;
  string_map_init(&seen, arena);
  const bool *is_applied = hlo_module_applied(arena, module, true); /* inside Kernels nothing is called */
  for (int64_t c = 0; c < module->computations.count; c++) {
    if (is_applied[module->computations.data[c]->id]) continue;
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      if (list->data[i]->opcode != HLO_CUSTOM_CALL || custom_call_is_trap(list->data[i])) continue;
      StringView symbol = call_target(list->data[i]);
      if (string_map_get(&seen, symbol) != NULL) continue;
      string_map_set(&seen, symbol, list->data[i]);
      array_push(&targets, arena, ((CallTarget){symbol, list->data[i]->loc}));
    }
  }
  return (CallTargets){targets.count, targets.data};
}

bool call_target_is_entry(StringView symbol, StringView entry_name) {
  if (!sv_starts_with(symbol, entry_name)) return false;
  StringView rest = sv_sub(symbol, entry_name.size, symbol.size);
  return rest.size == 0 || sv_equal_cstring(rest, "_descriptor") || sv_equal_cstring(rest, "_prepare");
}

static bool is_reserved(StringView symbol, StringView entry_name) {
  static const char *const prefixes[] = {"llvm.", "xlac."};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
    if (sv_starts_with(symbol, sv_from_cstring(prefixes[i]))) return true;
  }
  if (symbol.size == 0 || memchr(symbol.data, '\0', symbol.size) != NULL || symbol.data[0] == '\1') return true;
  return call_target_is_entry(symbol, entry_name);
}

/* --- support --- */

static void hide_support(LLVMModuleRef llvm_module) {
  static const char *const names[] = {"xlac.call.fail",     "xlac.ffi.api",     "xlac.ffi.wait",
                                      "xlac.ffi.message",   "xlac.ffi.destroy", "xlac.status.clear",
                                      "xlac.call.transfer", "xlac.constants",   "xlac.prepared"};
  ir_support_hide(llvm_module, names, sizeof names / sizeof *names);
}

/* What the calls of |module| need. */
typedef struct CallNeeds {
  bool failure, typed_call, call_status, transfer;
} CallNeeds;

static CallNeeds needs_of(const HloModule *module) {
  CallNeeds needs = {0};
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      bool is_transfer = call_is_transfer(list->data[i]->opcode);
      needs.failure |= is_transfer || hlo_opcode_has(list->data[i]->opcode, OP_COLLECTIVE);
      needs.transfer |= is_transfer;
      if (list->data[i]->opcode != HLO_CUSTOM_CALL) continue;
      CustomCallApiVersion version = call_version(list->data[i]);
      needs.failure = true;
      if (custom_call_is_trap(list->data[i])) continue;
      needs.typed_call |= version == CUSTOM_CALL_API_VERSION_TYPED_FFI;
      needs.call_status |= version == CUSTOM_CALL_API_VERSION_STATUS_RETURNING ||
                           version == CUSTOM_CALL_API_VERSION_STATUS_RETURNING_UNIFIED;
    }
  }
  return needs;
}

static Status declare_targets(LLVMModuleRef llvm_module, const CallTargets *targets, const char *entry_name,
                              Arena *scratch, DiagSink *diag) {
  for (int64_t i = 0; i < targets->count; i++) {
    const CallTarget *target = &targets->targets[i];
    if (is_reserved(target->symbol, sv_from_cstring(entry_name)))
      return diag_error(diag, STATUS_INVALID, target->loc, "call-target",
                        "no function outside the object can have the name '%.*s'", SV_ARG(target->symbol));
    call_declared_target(llvm_module, target->symbol, scratch);
  }
  return STATUS_OK;
}

Status call_declare(LLVMModuleRef llvm_module, const HloModule *module, const CallTargets *targets,
                    const char *entry_name, DiagSink *diag) {
  Arena *scratch = arena_create();
  Status status = declare_targets(llvm_module, targets, entry_name, scratch, diag);
  arena_destroy(scratch);
  RETURN_IF_ERROR(status);
  CallNeeds needs = needs_of(module);
  if (needs.failure) ir_support_link(llvm_module, xlac_call_failure, xlac_call_end_failure);
  if (needs.typed_call) ir_support_link(llvm_module, xlac_call_typed_call, xlac_call_end_typed_call);
  if (needs.call_status) ir_support_link(llvm_module, xlac_call_call_status, xlac_call_end_call_status);
  if (needs.transfer) ir_support_link(llvm_module, xlac_call_transfer, xlac_call_end_transfer);
  hide_support(llvm_module);
  return STATUS_OK;
}

/* What is hidden already would be another function than the one that is linked to. */
static void declare_support(LLVMModuleRef llvm_module, const char *begin, const char *end) {
  LLVMValueRef fail = LLVMGetNamedFunction(llvm_module, "xlac.call.fail");
  if (fail == NULL)
    ir_support_link(llvm_module, xlac_call_failure, xlac_call_end_failure);
  else
    LLVMSetLinkage(fail, LLVMExternalLinkage);
  ir_support_link(llvm_module, begin, end);
  hide_support(llvm_module);
}

void call_declare_constants(LLVMModuleRef llvm_module) {
  declare_support(llvm_module, xlac_call_constants, xlac_call_end_constants);
}

void call_declare_prepared(LLVMModuleRef llvm_module) {
  declare_support(llvm_module, xlac_call_prepared, xlac_call_end_prepared);
}
