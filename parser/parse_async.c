/* Asynchronous instructions.  The text may spell them with the wrapped opcode (negate-start); in memory there are only
 * async-start, async-update and async-done around a computation. */
#include "parser/parser_internal.h"

/* Opcodes with starts of their own, those that take no operands, and the wrappers. */
static bool is_wrappable(HloOpcode opcode) {
  switch (opcode) {
    case HLO_ALL_GATHER:
    case HLO_ALL_REDUCE:
    case HLO_COLLECTIVE_PERMUTE:
    case HLO_COPY:
    case HLO_SEND:
    case HLO_RECV:
    case HLO_PARAMETER:
    case HLO_CONSTANT:
    case HLO_ASYNC_START:
    case HLO_ASYNC_UPDATE:
    case HLO_ASYNC_DONE: return false;
    default: return true;
  }
}

bool resolve_async_sugar(StringView text, HloOpcode *out_wrapped, AsyncSugar *out_sugar) {
  static const struct {
    const char *suffix;
    AsyncSugar sugar;
  } suffixes[] = {{"-start", ASYNC_SUGAR_START}, {"-update", ASYNC_SUGAR_UPDATE}, {"-done", ASYNC_SUGAR_DONE}};
  for (int i = 0; i < 3; i++) {
    StringView suffix = sv_from_cstring(suffixes[i].suffix);
    HloOpcode opcode;
    if (!sv_ends_with(text, suffix)) continue;
    if (!hlo_opcode_from_text(sv_sub(text, 0, text.size - suffix.size), &opcode) || !is_wrappable(opcode)) return false;
    *out_wrapped = opcode;
    *out_sugar = suffixes[i].sugar;
    return true;
  }
  return false;
}

static bool is_main_thread(StringView thread) {
  return thread.size == 0 || sv_equal_cstring(thread, "main");
}

/* ((operands…), result, context…) */
static Status check_start_shape(Parser *parser, const InstructionDraft *draft) {
  const Shape *shape = draft->shape;
  if (!shape) {
    return parse_error(parser, draft->opcode_loc, "parse-missing-shape", "'%.*s' needs a shape before it",
                       SV_ARG(draft->opcode_text));
  }
  if (shape->type == TYPE_TUPLE && shape->tuple_size >= 2 && shape->tuple[0]->type == TYPE_TUPLE) return STATUS_OK;
  return parse_error(parser, draft->shape_loc, "parse-async", "the shape of '%.*s' has to be ((operands…), result, …)",
                     SV_ARG(draft->opcode_text));
}

/* Only one async-start may call a computation. */
static Status claim_computation(Parser *parser, const InstructionDraft *draft, HloComputation *computation) {
  if (pointer_map_get(&parser->async_computations, computation)) {
    return parse_error(parser, draft->opcode_loc, "parse-async",
                       "computation '%.*s' is called by more than one asynchronous instruction",
                       SV_ARG(computation->name));
  }
  pointer_map_set(&parser->async_computations, computation, computation);
  return STATUS_OK;
}

/* --- starts --- */

/* Which attributes of a sugared start belong to the instruction inside, which to the wrapper; some to both. */
static void split_attributes(Parser *parser, const InstructionDraft *draft, HloAttrArray *inside,
                             HloAttrArray *outside) {
  for (int64_t i = 0; i < draft->attrs.count; i++) {
    const HloAttr *attr = &draft->attrs.data[i];
    bool common = attr->id >= HLO_ATTR_FIRST_COMMON;
    bool copied = attr->id == HLO_ATTR_METADATA || attr->id == HLO_ATTR_ORIGIN || attr->id == HLO_ATTR_BACKEND_CONFIG ||
                  attr->id == HLO_ATTR_FRONTEND_ATTRIBUTES || attr->id == HLO_ATTR_STATISTICS;
    bool own = !common &&
               hlo_opcode_attr_from_text(draft->wrapped, sv_from_cstring(hlo_attr_info(attr->id)->text)) == attr->id;
    if (own || copied) array_push(inside, parser->scratch, *attr);
    if (!own) array_push(outside, parser->scratch, *attr);
  }
}

/* The computation with one parameter per operand and the wrapped instruction as its root. */
static Status wrap(Parser *parser, const InstructionDraft *draft, HloAttrArray attrs, StringView thread,
                   HloComputation **out_computation) {
  Scope scope;
  scope_begin(parser, &scope, SV("async_wrapped"), draft->opcode_loc);
  *out_computation = scope.computation;
  scope.computation->execution_thread = thread;
  InstructionDraft inner = {
      .name = SV("async_op"),
      .shape = draft->shape->tuple[1],
      .shape_loc = draft->shape_loc,
      .opcode = draft->wrapped,
      .opcode_loc = draft->opcode_loc,
      .opcode_text = sv_from_cstring(hlo_opcode_text(draft->wrapped)),
      .operands_loc = draft->operands_loc,
      .attrs = attrs,
  };
  for (int64_t i = 0; i < draft->operands.count; i++) {
    HloInstruction *parameter =
        hlo_computation_add_parameter(scope.computation, i, draft->operands.data[i]->shape, SV("async_param"));
    parameter->loc = draft->opcode_loc;
    array_push(&inner.operands, parser->scratch, parameter);
  }
  HloInstruction *root = NULL;
  Status status = check_instruction(parser, &inner);
  if (status == STATUS_OK) status = build_instruction(parser, &inner, &root);
  if (root) hlo_computation_set_root(scope.computation, root);
  scope.failed = status != STATUS_OK;
  (void)scope_end(parser, &scope);
  return status;
}

static Status finish_start(Parser *parser, InstructionDraft *draft) {
  RETURN_IF_ERROR(check_start_shape(parser, draft));
  const HloAttr *thread_attr = draft_attr(draft, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  StringView thread = thread_attr && !is_main_thread(thread_attr->value.text) ? thread_attr->value.text : SV("");
  const HloAttr *calls = draft_attr(draft, HLO_ATTR_CALLS);
  HloAttr calls_attr = {.id = HLO_ATTR_CALLS, .loc = draft->opcode_loc};
  if (draft->sugar == ASYNC_SUGAR_START) {
    HloAttrArray inside = {0}, outside = {0};
    split_attributes(parser, draft, &inside, &outside);
    RETURN_IF_ERROR(wrap(parser, draft, inside, thread, &calls_attr.value.computation));
    draft->attrs = outside;
    draft_set_attr(parser, draft, &calls_attr);
  } else if (!calls) {
    return parse_error(parser, draft->opcode_loc, "parse-missing-attribute", "'async-start' needs attribute 'calls'");
  }
  if (thread.size == 0) draft_remove_attr(draft, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  HloComputation *called = draft_attr(draft, HLO_ATTR_CALLS)->value.computation;
  return claim_computation(parser, draft, called);
}

/* --- updates and dones --- */

static const HloInstruction *chain_start(const HloInstruction *link) {
  while (link->opcode == HLO_ASYNC_UPDATE) link = link->operands[0];
  return link;
}

static Status finish_link(Parser *parser, InstructionDraft *draft) {
  const HloInstruction *operand = draft->operands.data[0];
  if (operand->opcode != HLO_ASYNC_START && operand->opcode != HLO_ASYNC_UPDATE) {
    Status status = parse_error(parser, draft->operands_loc, "parse-async",
                                "the operand of '%.*s' has to be an asynchronous start or update, not '%s'",
                                SV_ARG(draft->opcode_text), hlo_opcode_text(operand->opcode));
    parse_note(parser, operand->loc, "'%.*s' is defined here", SV_ARG(operand->name));
    return status;
  }
  if (!draft->shape) {
    return parse_error(parser, draft->opcode_loc, "parse-missing-shape", "'%.*s' needs a shape before it",
                       SV_ARG(draft->opcode_text));
  }
  if (draft->opcode == HLO_ASYNC_UPDATE && draft->shape != operand->shape) {
    return parse_error(parser, draft->shape_loc, "parse-async", "the shape of '%.*s' differs from its operand's",
                       SV_ARG(draft->opcode_text));
  }
  const HloInstruction *start = chain_start(operand);
  const HloComputation *called = hlo_instruction_computation(start, HLO_ATTR_CALLS);
  if (draft->sugar != ASYNC_PLAIN && called->root->opcode != draft->wrapped) {
    return parse_error(parser, draft->opcode_loc, "parse-async", "'%.*s' follows an asynchronous '%s'",
                       SV_ARG(draft->opcode_text), hlo_opcode_text(called->root->opcode));
  }
  const HloAttr *calls = draft_attr(draft, HLO_ATTR_CALLS),
                *thread = draft_attr(draft, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  if (calls && calls->value.computation != called) {
    return parse_error(parser, calls->loc, "parse-async", "'calls' differs from that of the start, '%.*s'",
                       SV_ARG(called->name));
  }
  const HloAttr *start_thread = hlo_instruction_attr(start, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  StringView wanted = start_thread ? start_thread->value.text : SV("");
  if (thread && !sv_equal(is_main_thread(thread->value.text) ? SV("") : thread->value.text, wanted)) {
    return parse_error(parser, thread->loc, "parse-async", "'async_execution_thread' differs from that of the start");
  }
  draft_remove_attr(draft, HLO_ATTR_CALLS); /* the start says it */
  draft_remove_attr(draft, HLO_ATTR_ASYNC_EXECUTION_THREAD);
  return STATUS_OK;
}

Status finish_async(Parser *parser, InstructionDraft *draft) {
  if (draft->opcode == HLO_ASYNC_START) return finish_start(parser, draft);
  if (draft->opcode == HLO_ASYNC_UPDATE || draft->opcode == HLO_ASYNC_DONE) return finish_link(parser, draft);
  return STATUS_OK;
}
