/* Commands of plans. */
#include <inttypes.h>
#include <stdlib.h>

#include "codegen/oncore/language/plan_parser_internal.h"
#include "codegen/oncore/plan/plan_printer.h"
#include "codegen/oncore/plan/tile_access.h"

/* --- verbs and queues --- */

static bool find_verb(StringView word, PlanVerb *out_verb) {
  *out_verb = PLAN_BARRIER;
  if (sv_equal_cstring(word, "Barrier")) return true; /* as the note that the language comes from writes it */
  for (int v = PLAN_LOAD; v <= PLAN_BARRIER; v++) {
    if (!sv_equal_cstring(word, plan_verb_text((PlanVerb)v))) continue;
    *out_verb = (PlanVerb)v;
    return true;
  }
  return false;
}

void plan_offer_verbs(NearestWord *nearest) {
  for (int v = PLAN_LOAD; v <= PLAN_BARRIER; v++)
    nearest_word_offer(nearest, sv_from_cstring(plan_verb_text((PlanVerb)v)));
}

bool plan_at_command(const PlanReader *reader) {
  PlanVerb verb;
  const PlanToken *token = plan_peek(reader);
  if (token->kind != PLAN_TOKEN_NAME) return false;
  const PlanToken *next = &token[1];
  bool is_label = next->kind == PLAN_TOKEN_MARK && sv_equal_cstring(next->text, ":");
  return is_label || find_verb(token->text, &verb);
}

static bool moves(PlanVerb verb) {
  return verb == PLAN_LOAD || verb == PLAN_STORE || verb == PLAN_GATHERM;
}

static bool queue_does(const MachineQueue *queue, PlanVerb verb) {
  if (verb == PLAN_STORE) return machine_queue_stores(queue);
  return moves(verb) ? machine_queue_loads(queue) : queue->kind == QUEUE_EXEC;
}

static bool parse_queue(PlanReader *reader, PlanCommand *command) {
  StringView name;
  SourceLoc loc;
  const MachineDescription *machine = reader->machine;
  const char *verb = plan_verb_text(command->verb);
  command->queue = PLAN_NO_QUEUE;
  if (command->verb == PLAN_BARRIER) return true;
  if (!plan_take_mark(reader, "@")) {
    for (int32_t q = 0; q < machine->queue_count; q++) {
      command->queue = q;
      if (queue_does(&machine->queues[q], command->verb)) return true;
    }
    return plan_fail(reader, command->loc, "plan-queue", "'%.*s' has no queue for '%s'", SV_ARG(machine->name), verb);
  }
  if (!plan_need_name(reader, "a queue", &name, &loc)) return false;
  const MachineQueue *queue = machine_find_queue(machine, name);
  if (queue == NULL) {
    plan_fail(reader, loc, "plan-queue", "'%.*s' has no queue '%.*s'", SV_ARG(machine->name), SV_ARG(name));
    PlanNames names = {0};
    for (int32_t q = 0; q < machine->queue_count; q++) array_push(&names, reader->arena, machine->queues[q].name);
    plan_note_names(reader, &names);
    return false;
  }
  if (!queue_does(queue, command->verb))
    return plan_fail(reader, loc, "plan-queue", "queue '%.*s' does not do '%s'", SV_ARG(name), verb);
  command->queue = (int32_t)(queue - machine->queues);
  return true;
}

/* --- operands --- */

typedef ARRAY(PlanRef) RefArray;

/* [range, …] of |count| axes, those not named whole. */
static bool parse_index(PlanReader *reader, const int64_t *extents, int32_t count, PlanRange *ranges) {
  for (int32_t i = 0; i < count; i++) ranges[i] = plan_range_whole(extents[i]);
  if (!plan_at_mark(reader, "[")) return true;
  SourceLoc loc = plan_peek(reader)->loc;
  reader->at++;
  for (int32_t i = 0;; i++) {
    if (i == count) return plan_fail(reader, loc, "plan-range", "more indices than axes: there are %d", count);
    if (!plan_parse_range(reader, extents[i], &ranges[i])) return false;
    if (!plan_take_mark(reader, ",")) break;
  }
  return plan_need_mark(reader, "]");
}

static bool check_slot(PlanReader *reader, const PlanTensor *tensor, const PlanRange *slot, SourceLoc loc) {
  if (tensor->kind != PLAN_RING || (slot->extent == 1 && !slot->is_ragged)) return true;
  return plan_fail(reader, loc, "plan-range", "the first index of ring '%.*s' is one slot", SV_ARG(tensor->name));
}

/* A Tensor or a view, whole or in part. */
static bool parse_ref(PlanReader *reader, bool wants_memory, PlanRef *out_ref) {
  StringView name;
  SourceLoc loc;
  if (!plan_need_name(reader, wants_memory ? "an array in memory" : "a Tensor", &name, &loc)) return false;
  const NameBinding *found = plan_find_name(reader, name, loc);
  if (found == NULL || found->kind == NAME_BAD) return false;
  bool is_memory = found->kind == NAME_MEMORY, is_slot = found->kind == NAME_SLOT;
  if (is_memory != wants_memory || (!is_memory && !is_slot && found->kind != NAME_TENSOR))
    return plan_fail(reader, loc, "plan-operands", "'%.*s' is not %s", SV_ARG(name),
                     wants_memory ? "an array in memory" : "a Tensor in the Buffer");
  const PlanTensor *tensor = is_memory ? NULL : &reader->tensors.data[found->number].tensor;
  const int64_t *extents = is_memory ? reader->memories.data[found->number].extents : tensor->extents;
  int32_t rank = is_memory ? reader->memories.data[found->number].rank : tensor->rank;
  PlanRange *ranges = ARENA_NEW_ARRAY(reader->arena, PlanRange, rank);
  if (is_slot) ranges[0] = plan_range_index(plan_slot_index(reader, found));
  *out_ref = (PlanRef){is_memory, found->number, rank, ranges};
  if (!parse_index(reader, extents + is_slot, rank - is_slot, ranges + is_slot)) return false;
  return is_memory || rank == 0 || check_slot(reader, tensor, &ranges[0], loc);
}

/* Numbers among the sources are for people: what is computed is the body's matter. */
static bool parse_refs(PlanReader *reader, bool first_is_memory, bool takes_numbers, RefArray *refs) {
  do {
    PlanTokenKind kind = plan_peek(reader)->kind;
    if (takes_numbers && (kind == PLAN_TOKEN_INTEGER || kind == PLAN_TOKEN_REAL)) {
      reader->at++;
      continue;
    }
    PlanRef ref;
    if (!parse_ref(reader, first_is_memory && refs->count == 0, &ref)) return false;
    array_push(refs, reader->arena, ref);
  } while (plan_take_mark(reader, ","));
  return true;
}

static PrimitiveType ref_type(const PlanReader *reader, const PlanRef *ref) {
  return ref->is_memory ? reader->memories.data[ref->number].type : reader->tensors.data[ref->number].tensor.type;
}

static StringView ref_name(const PlanReader *reader, const PlanRef *ref) {
  return ref->is_memory ? reader->memories.data[ref->number].name : reader->tensors.data[ref->number].tensor.name;
}

/* "33", "at most 33" */
static const char *size_text(const PlanReader *reader, const PlanRange *range) {
  return arena_printf(reader->arena, "%s%" PRId64, range->is_ragged ? "at most " : "", range->extent);
}

/* The ranges of more than one element of a transfer's two sides are alike. */
static bool check_transfer(PlanReader *reader, const PlanCommand *command) {
  const PlanRef *a = &command->targets[0], *b = &command->sources[0];
  if (ref_type(reader, a) != ref_type(reader, b))
    return plan_fail(reader, command->loc, "plan-operands", "types differ: '%.*s' is of %s, '%.*s' of %s",
                     SV_ARG(ref_name(reader, a)), type_text(ref_type(reader, a)), SV_ARG(ref_name(reader, b)),
                     type_text(ref_type(reader, b)));
  int32_t i = 0, k = 0;
  for (;; i++, k++) {
    while (i < a->range_count && a->ranges[i].extent == 1) i++;
    while (k < b->range_count && b->ranges[k].extent == 1) k++;
    if (i == a->range_count || k == b->range_count) break;
    if (!plan_range_same_size(&a->ranges[i], &b->ranges[k]))
      return plan_fail(reader, command->loc, "plan-operands",
                       "the two sides differ in size: %s elements of '%.*s' along an axis, %s of '%.*s'",
                       size_text(reader, &a->ranges[i]), SV_ARG(ref_name(reader, a)), size_text(reader, &b->ranges[k]),
                       SV_ARG(ref_name(reader, b)));
  }
  if (i == a->range_count && k == b->range_count) return true;
  return plan_fail(reader, command->loc, "plan-operands", "the two sides differ in their axes");
}

/* After 'barrier': of all queues, or "(T)" of one Tensor. */
static bool parse_barrier(PlanReader *reader, PlanCommand *command) {
  if (!plan_take_mark(reader, "(") || plan_take_mark(reader, ")")) return true;
  PlanRef *part = ARENA_NEW(reader->arena, PlanRef);
  if (!parse_ref(reader, false, part)) return false;
  command->targets = part;
  command->target_count = 1;
  return plan_need_mark(reader, ")");
}

static bool parse_operands(PlanReader *reader, PlanCommand *command) {
  RefArray targets = {0}, sources = {0};
  if (command->verb == PLAN_BARRIER) return parse_barrier(reader, command);
  bool from_memory = command->verb == PLAN_LOAD || command->verb == PLAN_GATHERM;
  if (!parse_refs(reader, command->verb == PLAN_STORE, false, &targets)) return false;
  if (!plan_take_mark(reader, "<-") && !plan_take_mark(reader, "=")) return plan_expected(reader, "'<-' or '='");
  bool ends = plan_peek(reader)->kind == PLAN_TOKEN_NEWLINE;
  bool is_attribute =
      plan_peek(reader)->kind == PLAN_TOKEN_NAME && sv_equal_cstring(reader->tokens.data[reader->at + 1].text, "=");
  bool has_sources = moves(command->verb) || (!ends && !is_attribute);
  if (has_sources && !parse_refs(reader, from_memory, !moves(command->verb), &sources)) return false;
  command->targets = targets.data;
  command->sources = sources.data;
  command->target_count = (int32_t)targets.count;
  command->source_count = (int32_t)sources.count;
  int64_t wanted = command->verb == PLAN_GATHERM ? 2 : 1;
  if (moves(command->verb) && (targets.count != 1 || sources.count != wanted))
    return plan_fail(reader, command->loc, "plan-operands", "'%s' has one target and %s", plan_verb_text(command->verb),
                     wanted == 2 ? "two sources" : "one source");
  return true;
}

/* --- attributes --- */

static bool take_text(PlanReader *reader, const char *what, PlanTokenKind kind, PlanToken *out_token) {
  const PlanToken *token = plan_peek(reader);
  *out_token = *token;
  if (token->kind != kind) return plan_expected(reader, what);
  reader->at++;
  return true;
}

/* The Kernel's loads, as 'value' names them. */
static bool tell_loads(PlanReader *reader, const PlanToken *token) {
  const Kernel *kernel = reader->plan->kernel;
  PlanNames names = {0};
  plan_fail(reader, token->loc, "plan-kernel", "the kernel has no load '%.*s'", SV_ARG(token->text));
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (tile_load_value(kernel, v) != NULL) array_push(&names, reader->arena, sv_printf(reader->arena, "v%d", v));
  }
  plan_note_names(reader, &names);
  return false;
}

/* vN, a value of the Kernel */
static bool parse_value(PlanReader *reader, int32_t *out_value) {
  PlanToken token;
  int64_t number;
  if (!take_text(reader, "a value such as v3", PLAN_TOKEN_NAME, &token)) return false;
  if (token.text.data[0] != 'v' || !sv_to_count(sv_sub(token.text, 1, token.text.size), &number))
    return plan_fail(reader, token.loc, "plan-syntax", "expected a value such as v3, not '%.*s'", SV_ARG(token.text));
  const Kernel *kernel = reader->plan->kernel;
  if (kernel == NULL) return true;
  if (number >= kernel->value_count || tile_load_value(kernel, (int32_t)number) == NULL)
    return tell_loads(reader, &token);
  *out_value = (int32_t)number;
  return true;
}

/* The text of a string as tokens of its own: |parse| reads them. */
static bool parse_string(PlanReader *reader, PlanCommand *command, bool (*parse)(PlanReader *, PlanCommand *)) {
  PlanToken token;
  PlanTokenArray tokens;
  if (!take_text(reader, "a string", PLAN_TOKEN_STRING, &token)) return false;
  if (reader->plan->kernel == NULL) return true;
  Status status = plan_lex_string(reader->arena, token.text, token.loc, reader->diag, &tokens);
  if (status != STATUS_OK) {
    reader->status = status;
    return false;
  }
  PlanTokenArray outer = reader->tokens;
  int64_t at = reader->at;
  reader->tokens = tokens;
  reader->at = 0;
  bool ok = parse(reader, command);
  if (ok && plan_peek(reader)->kind != PLAN_TOKEN_NEWLINE) ok = plan_expected(reader, "the end of the string");
  reader->tokens = outer;
  reader->at = at;
  return ok;
}

/* "first:last" */
static bool parse_stages(PlanReader *reader, PlanCommand *command) {
  SourceLoc loc = plan_peek(reader)->loc;
  int64_t first, last;
  if (!plan_need_integer(reader, "a stage", &first) || !plan_need_mark(reader, ":") ||
      !plan_need_integer(reader, "a stage", &last))
    return false;
  int32_t count = reader->plan->kernel->stage_count;
  if (first > last || last >= count)
    return plan_fail(reader, loc, "plan-kernel", "the kernel's stages are 0 to %d", count - 1);
  command->first_stage = (int32_t)first;
  command->last_stage = (int32_t)last;
  return true;
}

/* A load whose points stay in a window as a whole may go beyond a dim: positions and taps are one axis there. */
static bool is_in_window(PlanReader *reader, const PlanCommand *command, int32_t dim) {
  const Kernel *kernel = reader->plan->kernel;
  TileWindows windows;
  int64_t whole[KERNEL_MAX_DIMS], end = 1;
  if (command->value < 0 || !tile_load_windows(kernel, command->value, &windows)) return false;
  for (int32_t d = 0; d < kernel->dim_count; d++) whole[d] = kernel->dims[d].extent;
  int32_t axis = 0;
  while (axis < windows.axis_count && windows.axes[axis] != dim) axis++;
  if (axis == windows.axis_count || windows.along[axis] != axis) return false;
  for (int32_t i = 0; i < windows.axis_count; i++) {
    const PlanRange *range = &command->points[windows.axes[i]];
    if (windows.along[i] == axis && range->extent > 0) end += windows.steps[i] * (plan_range_end(reader, range) - 1);
  }
  return end <= tile_window_extent(&windows, axis, whole);
}

/* "d0=range, d2=range"; a load's value stands before it. */
static bool parse_points(PlanReader *reader, PlanCommand *command) {
  const Kernel *kernel = reader->plan->kernel;
  PlanRange *points = ARENA_NEW_ARRAY(reader->arena, PlanRange, kernel->dim_count);
  SourceLoc locs[KERNEL_MAX_DIMS];
  command->points = points;
  if (plan_peek(reader)->kind == PLAN_TOKEN_NEWLINE) return true;
  do {
    PlanToken token;
    int64_t dim;
    if (!take_text(reader, "a dim such as d0", PLAN_TOKEN_NAME, &token)) return false;
    if (token.text.data[0] != 'd' || !sv_to_count(sv_sub(token.text, 1, token.text.size), &dim) ||
        dim >= kernel->dim_count)
      return plan_fail(reader, token.loc, "plan-kernel", "the kernel has no dim '%.*s': it has %d of them, from d0",
                       SV_ARG(token.text), kernel->dim_count);
    if (!plan_need_mark(reader, "=")) return false;
    locs[dim] = plan_peek(reader)->loc;
    if (!plan_parse_free_range(reader, kernel->dims[dim].extent, &points[dim])) return false;
  } while (plan_take_mark(reader, ","));
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    int64_t extent = is_in_window(reader, command, d) ? INT64_MAX : kernel->dims[d].extent;
    if (points[d].extent > 0 && !plan_check_range(reader, &points[d], extent, locs[d])) return false;
  }
  return true;
}

/* "range", of the elements of a buffer that is updated */
static bool parse_slice(PlanReader *reader, PlanCommand *command) {
  const Kernel *kernel = reader->plan->kernel;
  for (int32_t b = 0; b < kernel->buffer_count; b++) {
    if (tile_is_updated(kernel, b)) return plan_parse_range(reader, kernel->buffers[b].element_count, &command->slice);
  }
  return plan_fail(reader, plan_peek(reader)->loc, "plan-kernel", "the kernel updates no buffer");
}

static bool parse_init(PlanReader *reader, PlanCommand *command) {
  StringView name;
  SourceLoc loc;
  command->init = true;
  if (!plan_take_mark(reader, "=")) return true;
  if (!plan_need_name(reader, "a loop", &name, &loc)) return false;
  const NameBinding *found = plan_find_name(reader, name, loc);
  if (found == NULL || found->kind == NAME_BAD) return false;
  if (found->kind != NAME_LOOP) return plan_fail(reader, loc, "plan-name", "'%.*s' is not a loop", SV_ARG(name));
  command->init_loop = found->number;
  return true;
}

static bool parse_cost(PlanReader *reader, PlanCommand *command) {
  const PlanToken *token = plan_peek(reader);
  if (token->kind != PLAN_TOKEN_INTEGER && token->kind != PLAN_TOKEN_REAL) return plan_expected(reader, "a number");
  command->cost = strtod(arena_copy_string(reader->arena, token->text.data, token->text.size), NULL);
  if (!(command->cost >= 0 && command->cost <= 1e9))
    return plan_fail(reader, token->loc, "plan-range", "a cost has to be between 0 and 10^9 cycles a vector");
  reader->at++;
  return true;
}

/* What is only for people: a name, a number, a string. */
static bool pass_over(PlanReader *reader) {
  PlanTokenKind kind = plan_peek(reader)->kind;
  if (kind != PLAN_TOKEN_NAME && kind != PLAN_TOKEN_INTEGER && kind != PLAN_TOKEN_REAL && kind != PLAN_TOKEN_STRING)
    return plan_expected(reader, "a value");
  reader->at++;
  return true;
}

/* What 'body' names; operations of HLO have dashes. */
static bool parse_body(PlanReader *reader, PlanCommand *command, SourceLoc *out_loc) {
  const PlanToken *token = plan_peek(reader);
  if (token->kind != PLAN_TOKEN_NAME && token->kind != PLAN_TOKEN_STRING) return plan_expected(reader, "a name");
  command->body = token->text;
  *out_loc = token->loc;
  reader->at++;
  return true;
}

/* Those of plans of Kernels alone, then all others. */
enum { KERNEL_ATTRIBUTES = 7 };
static const char *const attributes[] = {"acc",   "init", "value", "index", "stages", "at",
                                         "slice", "body", "cost",  "f",     "axis",   "hlo"};

static bool is_of_kernels(StringView attribute) {
  for (size_t i = 0; i < KERNEL_ATTRIBUTES; i++) {
    if (sv_equal_cstring(attribute, attributes[i])) return true;
  }
  return false;
}

static bool tell_attributes(PlanReader *reader, StringView name, SourceLoc loc) {
  size_t first = reader->operations != NULL ? KERNEL_ATTRIBUTES : 0;
  PlanNames names = {0};
  plan_fail(reader, loc, "plan-syntax", "there is no attribute '%.*s'", SV_ARG(name));
  for (size_t i = first; i < sizeof attributes / sizeof attributes[0]; i++)
    array_push(&names, reader->arena, sv_from_cstring(attributes[i]));
  plan_note_names(reader, &names);
  return false;
}

static bool parse_attribute(PlanReader *reader, PlanCommand *command, SourceLoc *out_body) {
  StringView name;
  SourceLoc loc;
  PlanToken token;
  if (!plan_need_name(reader, "an attribute or 'after'", &name, &loc)) return false;
  if (is_of_kernels(name) && !plan_need_kernel(reader, loc, name)) return false;
  if (sv_equal_cstring(name, "acc")) return (command->keeps_accumulators = true);
  if (sv_equal_cstring(name, "init")) return parse_init(reader, command);
  if (!plan_need_mark(reader, "=")) return false;
  if (sv_equal_cstring(name, "value")) return parse_value(reader, &command->value);
  if (sv_equal_cstring(name, "index")) return parse_value(reader, &command->index_value);
  if (sv_equal_cstring(name, "stages")) return parse_string(reader, command, parse_stages);
  if (sv_equal_cstring(name, "at")) return parse_string(reader, command, parse_points);
  if (sv_equal_cstring(name, "slice")) return parse_string(reader, command, parse_slice);
  if (sv_equal_cstring(name, "cost")) return parse_cost(reader, command);
  if (sv_equal_cstring(name, "body")) return parse_body(reader, command, out_body);
  if (sv_equal_cstring(name, "hlo")) {
    bool ok = take_text(reader, "a string", PLAN_TOKEN_STRING, &token);
    command->hlo = token.text;
    return ok;
  }
  if (sv_equal_cstring(name, "axis") || sv_equal_cstring(name, "f")) return pass_over(reader);
  return tell_attributes(reader, name, loc);
}

/* ":]" or "-2:]" */
static bool parse_runs(PlanReader *reader, EdgeDraft *edge) {
  edge->has_runs = true;
  if (plan_take_mark(reader, "-")) {
    SourceLoc loc = plan_peek(reader)->loc;
    if (!plan_need_integer(reader, "a number of runs", &edge->runs)) return false;
    if (edge->runs == 0) return plan_fail(reader, loc, "plan-range", "the last 0 runs are none");
  }
  return plan_need_mark(reader, ":") && plan_need_mark(reader, "]");
}

/* After "[": names of loops, "- d" after the last one, and which runs. */
static bool parse_reach(PlanReader *reader, EdgeDraft *edge) {
  while (!plan_at_mark(reader, ":") && !plan_at_mark(reader, "-")) {
    SourceLoc loc = plan_peek(reader)->loc;
    if (edge->loop_count == PLAN_DEEPEST_BLOCK) return plan_fail(reader, loc, "plan-syntax", "too many loops");
    if (!plan_need_name(reader, "a loop", &edge->loops[edge->loop_count++], &loc)) return false;
    if (plan_take_mark(reader, ",")) continue;
    if (!plan_need_mark(reader, "-") || !plan_need_integer(reader, "a number of iterations", &edge->back)) return false;
    if (!plan_take_mark(reader, ",")) return plan_need_mark(reader, "]");
    break;
  }
  return parse_runs(reader, edge);
}

/* L[i-d], … */
static bool parse_after(PlanReader *reader) {
  do {
    EdgeDraft edge = {.consumer = (int32_t)reader->commands.count};
    if (!plan_need_name(reader, "a label", &edge.label, &edge.loc)) return false;
    if (plan_take_mark(reader, "[") && !parse_reach(reader, &edge)) return false;
    if (reader->phase != PHASE_ALL)
      return plan_fail(reader, edge.loc, "plan-pipeline",
                       "a loop with 'ahead' has derived edges: 'after' cannot stand in it");
    array_push(&reader->edges, reader->arena, edge);
  } while (plan_take_mark(reader, ","));
  return true;
}

/* --- what a command covers of its Kernel --- */

static bool is_covered(const Kernel *kernel, const PlanCommand *command, int32_t dim) {
  int32_t axes[KERNEL_MAX_DIMS], count, stage = kernel->dims[dim].stage;
  if (moves(command->verb) || plan_brings_held(command)) {
    count = tile_load_axes(kernel, command->value, axes);
  } else if (command->index_value >= 0) {
    count = tile_index_axes(kernel, command->index_value, axes);
  } else {
    return stage == KERNEL_OUTER || (stage >= command->first_stage && stage <= command->last_stage);
  }
  for (int32_t i = 0; i < count; i++) {
    if (axes[i] == dim) return true;
  }
  return false;
}

static bool check_cover(PlanReader *reader, PlanCommand *command) {
  const Kernel *kernel = reader->plan->kernel;
  if (kernel == NULL || command->verb == PLAN_BARRIER) return true;
  bool is_plain = moves(command->verb) && command->value < 0;
  if (is_plain && command->verb == PLAN_GATHERM)
    return plan_fail(reader, command->loc, "plan-operands", "'gatherm' needs 'value', the load that it does");
  if (is_plain) {
    command->points = NULL;
    return true;
  }
  if (command->points == NULL)
    return plan_fail(reader, command->loc, "plan-operands",
                     "'at' is missing: it says which points of the kernel are computed");
  for (int32_t d = 0; d < kernel->dim_count; d++) {
    bool is_given = command->points[d].extent > 0, is_needed = is_covered(kernel, command, d);
    if (is_needed && !is_given) return plan_fail(reader, command->loc, "plan-operands", "'at' lacks a range of d%d", d);
  }
  return true;
}

/* --- the command --- */

static bool has_label(const PlanReader *reader, StringView label) {
  for (int64_t c = 0; c < reader->commands.count; c++) {
    if (sv_equal(reader->commands.data[c].label, label)) return true;
  }
  return false;
}

/* The load of a later iteration, or all the others? */
static bool is_of_phase(PlanReader *reader, const PlanCommand *command) {
  bool runs_ahead = command->verb == PLAN_LOAD && command->loop == reader->shifted_loop;
  if (reader->phase == PHASE_FIRST) return runs_ahead;
  return reader->phase != PHASE_LAST || !runs_ahead;
}

/* Before its operands are read. */
static void set_shift(PlanReader *reader, PlanVerb verb) {
  if (reader->shifted_loop < 0) return;
  bool runs_ahead = verb == PLAN_LOAD && reader->loop == reader->shifted_loop;
  reader->loop_shift = 0;
  if (reader->phase == PHASE_MAIN && runs_ahead) reader->loop_shift = reader->ahead;
  if (reader->phase == PHASE_LAST) reader->loop_shift = reader->phase_trips - reader->ahead;
}

static StringView next_label(PlanReader *reader, PlanVerb verb) {
  const char *name = verb == PLAN_BARRIER ? "bar" : verb == PLAN_STORE ? "st" : moves(verb) ? "ld" : "ex";
  for (int n = 0;; n++) {
    StringView label = sv_printf(reader->arena, "%s%d", name, n);
    if (!has_label(reader, label)) return label;
  }
}

static bool set_label(PlanReader *reader, PlanCommand *command, StringView label, SourceLoc loc) {
  static const char *const suffixes[] = {"", "_first", "", "_last"};
  if (label.size == 0) {
    command->label = next_label(reader, command->verb);
    return true;
  }
  if (reader->phase != PHASE_ALL) label = sv_printf(reader->arena, "%.*s%s", SV_ARG(label), suffixes[reader->phase]);
  if (has_label(reader, label))
    return plan_fail(reader, loc, "plan-name", "there are two commands '%.*s'", SV_ARG(label));
  command->label = label;
  return true;
}

static bool parse_rest(PlanReader *reader, PlanCommand *command) {
  SourceLoc body = command->loc;
  if (!parse_queue(reader, command) || !parse_operands(reader, command)) return false;
  while (plan_peek(reader)->kind != PLAN_TOKEN_NEWLINE && !plan_at_word(reader, "after")) {
    if (!parse_attribute(reader, command, &body)) return false;
  }
  if (reader->operations != NULL && !plan_find_operation(reader, command, body)) return false;
  if (plan_take_word(reader, "after") && !parse_after(reader)) return false;
  if (moves(command->verb) && command->value < 0 && command->verb != PLAN_GATHERM && !check_transfer(reader, command))
    return false;
  return check_cover(reader, command);
}

bool plan_parse_command(PlanReader *reader) {
  PlanCommand command = {.loop = reader->loop, .value = -1, .index_value = -1, .init_loop = -1};
  StringView label = {0}, verb;
  SourceLoc label_loc = NO_LOC;
  const PlanToken *next = &reader->tokens.data[reader->at + 1];
  if (sv_equal_cstring(next->text, ":")) {
    if (!plan_need_name(reader, "a label", &label, &label_loc)) return false;
    reader->at++;
  }
  if (!plan_need_name(reader, "a command", &verb, &command.loc)) return false;
  if (!find_verb(verb, &command.verb)) {
    plan_fail(reader, command.loc, "plan-syntax", "there is no command '%.*s'", SV_ARG(verb));
    PlanNames names = {0};
    for (int v = PLAN_LOAD; v <= PLAN_BARRIER; v++)
      array_push(&names, reader->arena, sv_from_cstring(plan_verb_text((PlanVerb)v)));
    plan_note_names(reader, &names);
    return false;
  }
  set_shift(reader, command.verb);
  if (!parse_rest(reader, &command)) return false;
  if (!is_of_phase(reader, &command)) return true;
  if (!set_label(reader, &command, label, label_loc)) return false;
  array_push(&reader->commands, reader->arena, command);
  PlanNode node = {PLAN_NODE_COMMAND, (int32_t)reader->commands.count - 1};
  if (reader->loop < 0) {
    array_push(&reader->nodes, reader->arena, node);
  } else {
    array_push(&reader->loops.data[reader->loop].nodes, reader->arena, node);
  }
  return true;
}
