/* Host transfers: an XlacTransfer on the stack, of which all but the addresses of the leaves is constant. */
#include "codegen/call/call_internal.h"
#include "codegen/ir/tensor_constants.h"
#include "xlac/abi.h"

static int32_t kind_of(HloOpcode opcode) {
  switch (opcode) {
    case HLO_INFEED: return XLAC_INFEED;
    case HLO_OUTFEED: return XLAC_OUTFEED;
    case HLO_SEND: return XLAC_SEND;
    case HLO_RECV: return XLAC_RECV;
    default: return 0;
  }
}

bool call_is_transfer(HloOpcode opcode) {
  return kind_of(opcode) != 0;
}

/* A run of the function's leaves. */
typedef struct LeafRange {
  int first, count;
} LeafRange;

/* The first part of the result where data come in, the first operand where they go out. */
static LeafRange data_leaves(const CallCode *code) {
  const HloInstruction *call = code->call;
  bool comes_in = call->opcode == HLO_INFEED || call->opcode == HLO_RECV;
  if (comes_in) return (LeafRange){code->operand_count, shape_leaf_count(call->shape->tuple[0])};
  return (LeafRange){0, shape_leaf_count(call->operands[0]->shape)};
}

static StringView config_of(const HloInstruction *call) {
  const HloAttr *text =
      hlo_instruction_attr(call, call->opcode == HLO_INFEED ? HLO_ATTR_INFEED_CONFIG : HLO_ATTR_OUTFEED_CONFIG);
  if (text != NULL) return text->value.text;
  const FrontendAttribute *rendezvous = hlo_instruction_frontend(call, "_xla_host_transfer_rendezvous");
  return rendezvous != NULL ? rendezvous->value : SV("");
}

static LLVMValueRef transfer_of(const CallCode *code, LeafRange range) {
  TensorConstants constants = {code->context, code->module, code->arena};
  TensorLeaf *leaves = ARENA_NEW_ARRAY(code->arena, TensorLeaf, range.count + 1);
  for (int i = 0; i < range.count; i++) leaves[i] = (TensorLeaf){SV(""), code->leaves[range.first + i].shape, -1};
  LLVMValueRef fields[] = {call_int(code, code->i32, kind_of(code->call->opcode)),
                           call_int(code, code->i32, 0),
                           call_text(code, code->call->name),
                           call_text(code, config_of(code->call)),
                           call_int(code, code->i64, hlo_instruction_int(code->call, HLO_ATTR_CHANNEL_ID, 0)),
                           call_int(code, code->i64, range.count),
                           tensor_array(&constants, leaves, range.count),
                           LLVMConstNull(code->pointer)};
  return LLVMConstStructInContext(code->context, fields, sizeof fields / sizeof *fields, false);
}

/* (data, context, token): the context, which nothing reads, is 0. */
static void store_context(const CallCode *code) {
  LLVMValueRef address = code->leaves[code->count - 2].address;
  LLVMBuildStore(code->builder, call_int(code, code->i32, 0), address);
}

Status call_emit_transfer(const CallCode *code) {
  const HloInstruction *call = code->call;
  bool has_channel = call->opcode == HLO_SEND || call->opcode == HLO_RECV;
  LeafRange range = data_leaves(code);
  LLVMValueRef known = transfer_of(code, range);
  LLVMValueRef transfer = LLVMBuildAlloca(code->builder, LLVMTypeOf(known), "");
  LLVMValueRef data = call_address_array(code, range.first, range.count);
  LLVMBuildMemCpy(code->builder, transfer, 8, call_constant(code, known), 8,
                  call_int(code, code->i64, (int64_t)sizeof(XlacTransfer)));
  call_store(code, data, transfer, (int64_t)offsetof(XlacTransfer, data));
  if (has_channel) store_context(code);
  LLVMValueRef message = call_support(code, "xlac.call.transfer", (LLVMValueRef[]){code->options, transfer}, 2);
  LLVMBasicBlockRef behind = call_branch_if_set(code, message);
  StringView callee = sv_from_cstring(hlo_opcode_text(call->opcode));
  LLVMBuildRet(code->builder, call_failure(code, callee, message));
  LLVMPositionBuilderAtEnd(code->builder, behind);
  LLVMBuildRet(code->builder, call_int(code, code->i32, 0));
  return STATUS_OK;
}
