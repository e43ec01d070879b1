/* What an engine wants to know of a kernel, as read-only data: the structs of xlac/abi.h, field by field. */
#include "base/checked_math.h"
#include "codegen/oncore/emit/oncore_internal.h"
#include "codegen/oncore/plan/tile_access.h"
#include "xlac/abi.h"

#define FIELD_COUNT(fields) ((unsigned)(sizeof(fields) / sizeof *(fields)))

static LLVMValueRef half_word(const PlanEmitter *emitter, int64_t value) {
  return LLVMConstInt(LLVMInt32TypeInContext(emitter->vec.context), (unsigned long long)value, true);
}

static LLVMValueRef real(const PlanEmitter *emitter, double value) {
  return LLVMConstReal(LLVMDoubleTypeInContext(emitter->vec.context), value);
}

static LLVMValueRef make_struct(const PlanEmitter *emitter, LLVMValueRef *fields, unsigned count) {
  return LLVMConstStructInContext(emitter->vec.context, fields, count, false);
}

/* One for equal values: many records say the same of their commands. */
static LLVMValueRef private_constant(const PlanEmitter *emitter, LLVMValueRef value, const char *name) {
  IntMap *constants = &emitter->emitter->constants;
  LLVMValueRef global = pointer_map_get(constants, value);
  if (global != NULL) return global;
  global = LLVMAddGlobal(emitter->vec.module, LLVMTypeOf(value), name);
  pointer_map_set(constants, value, global);
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  return global;
}

/* A pointer to |count| values of one type; NULL for none. */
static LLVMValueRef make_array(const PlanEmitter *emitter, LLVMValueRef *elements, int64_t count, const char *name) {
  if (count == 0) return LLVMConstNull(emitter->pointer);
  return private_constant(emitter, LLVMConstArray2(LLVMTypeOf(elements[0]), elements, (uint64_t)count), name);
}

static LLVMValueRef make_text(const PlanEmitter *emitter, StringView text) {
  return private_constant(emitter, LLVMConstStringInContext2(emitter->vec.context, text.data, text.size, false),
                          "text");
}

static LLVMValueRef *new_elements(const PlanEmitter *emitter, int64_t count) {
  return ARENA_NEW_ARRAY(emitter->arena, LLVMValueRef, count);
}

/* --- commands --- */

static LLVMValueRef make_access(const PlanEmitter *emitter, const CommandAccess *access) {
  LLVMValueRef *levels = new_elements(emitter, access->level_count);
  for (int32_t i = 0; i < access->level_count; i++) {
    LLVMValueRef fields[] = {oncore_word(emitter, access->levels[i].count),
                             oncore_word(emitter, access->levels[i].stride)};
    levels[i] = make_struct(emitter, fields, FIELD_COUNT(fields));
  }
  int64_t flags = (access->is_write ? XLAC_ONCORE_WRITES : 0) | (access->is_anywhere ? XLAC_ONCORE_ANYWHERE : 0);
  LLVMValueRef fields[] = {
      half_word(emitter, access->pointer),       half_word(emitter, flags),
      oncore_word(emitter, access->offset),      oncore_word(emitter, access->bytes),
      oncore_word(emitter, access->level_count), make_array(emitter, levels, access->level_count, "levels")};
  return make_struct(emitter, fields, FIELD_COUNT(fields));
}

static LLVMValueRef make_variant(const PlanEmitter *emitter, const CommandVariant *variant, const TileCode *code) {
  LLVMValueRef *accesses = new_elements(emitter, variant->access_count);
  for (int32_t i = 0; i < variant->access_count; i++) accesses[i] = make_access(emitter, &variant->accesses[i]);
  LLVMValueRef fields[] = {code->thunk,
                           real(emitter, variant->cycles),
                           oncore_word(emitter, variant->bytes),
                           oncore_word(emitter, variant->rows),
                           oncore_word(emitter, variant->access_count),
                           make_array(emitter, accesses, variant->access_count, "accesses")};
  return make_struct(emitter, fields, FIELD_COUNT(fields));
}

static LLVMValueRef make_edges(const PlanEmitter *emitter, const PlanCommand *command) {
  LLVMValueRef *edges = new_elements(emitter, command->edge_count);
  for (int32_t i = 0; i < command->edge_count; i++) {
    LLVMValueRef fields[] = {oncore_word(emitter, command->edges[i].command),
                             oncore_word(emitter, command->edges[i].distance)};
    edges[i] = make_struct(emitter, fields, FIELD_COUNT(fields));
  }
  return make_array(emitter, edges, command->edge_count, "edges");
}

/* Of each variant. */
static LLVMValueRef make_descriptors(const PlanEmitter *emitter, const CommandCode *code) {
  LLVMValueRef *descriptors = new_elements(emitter, code->variants.count);
  for (int32_t v = 0; v < code->variants.count; v++)
    descriptors[v] = oncore_word(emitter, max_i64(code->variants.variants[v].descriptors, 1));
  return make_array(emitter, descriptors, code->variants.count, "descriptors");
}

static LLVMValueRef make_reaches(const PlanEmitter *emitter, int32_t number) {
  const Plan *plan = emitter->plan;
  const PlanCommand *command = &plan->commands[number];
  LLVMValueRef *reaches = new_elements(emitter, command->edge_count);
  for (int32_t e = 0; e < command->edge_count; e++) {
    const PlanEdge *edge = &command->edges[e];
    PlanEdgeReach reach = plan_edge_reach(plan, number, edge);
    bool is_limited = reach.same_loop >= 0;
    int64_t inside = plan_loop_instances(plan, command->loop) / plan_loop_instances(plan, reach.loop);
    int64_t period = is_limited ? inside * plan_reach_period(plan, &reach) : 0;
    LLVMValueRef fields[] = {oncore_word(emitter, edge->before), oncore_word(emitter, period),
                             oncore_word(emitter, is_limited ? reach.back * inside : 0)};
    reaches[e] = make_struct(emitter, fields, FIELD_COUNT(fields));
  }
  return make_array(emitter, reaches, command->edge_count, "reaches");
}

static StringView verb_text(PlanVerb verb) {
  static const char *const texts[] = {
      [PLAN_LOAD] = "load",   [PLAN_STORE] = "store",     [PLAN_OP] = "op",         [PLAN_REDUCE] = "reduce",
      [PLAN_DOT] = "dot",     [PLAN_PERMUTE] = "permute", [PLAN_GATHER] = "gather", [PLAN_GATHERM] = "gatherm",
      [PLAN_SORTK] = "sortk", [PLAN_BARRIER] = "barrier"};
  return sv_from_cstring(texts[verb]);
}

/* Variants differ in sizes only, so that the first one's buffers are those of all. */
static LLVMValueRef make_objects_of_pointers(const PlanEmitter *emitter, const TileKernel *tile) {
  int32_t count = tile->kernel->buffer_count;
  LLVMValueRef *objects = new_elements(emitter, count);
  for (int32_t b = 0; b < count; b++) {
    objects[b] = oncore_word(emitter, command_pointer_object(emitter->plan, tile, b));
  }
  return make_array(emitter, objects, count, "objects");
}

static LLVMValueRef make_barrier(const PlanEmitter *emitter, const PlanCommand *command) {
  LLVMValueRef nothing = LLVMConstNull(emitter->pointer), none = oncore_word(emitter, 0);
  LLVMValueRef fields[] = {make_text(emitter, command->label),
                           make_text(emitter, verb_text(command->verb)),
                           half_word(emitter, command->queue),
                           half_word(emitter, false),
                           none,
                           nothing,
                           none,
                           none,
                           nothing,
                           none,
                           nothing};
  return make_struct(emitter, fields, FIELD_COUNT(fields));
}

static LLVMValueRef make_command(const PlanEmitter *emitter, int32_t number) {
  const PlanCommand *command = &emitter->plan->commands[number];
  const CommandCode *code = &emitter->commands[number];
  if (command->verb == PLAN_BARRIER) return make_barrier(emitter, command);
  const TileKernel *tile = &code->variants.variants[0].tile;
  LLVMValueRef *variants = new_elements(emitter, code->variants.count);
  for (int32_t v = 0; v < code->variants.count; v++) {
    variants[v] = make_variant(emitter, &code->variants.variants[v], code->tiles[v]);
  }
  LLVMValueRef fields[] = {make_text(emitter, command->label),
                           make_text(emitter, verb_text(command->verb)),
                           half_word(emitter, command->queue),
                           half_word(emitter, command_is_transfer(command)),
                           oncore_word(emitter, tile->kernel->buffer_count),
                           make_objects_of_pointers(emitter, tile),
                           oncore_word(emitter, tile->parameter_count),
                           oncore_word(emitter, command->edge_count),
                           make_edges(emitter, command),
                           oncore_word(emitter, code->variants.count),
                           make_array(emitter, variants, code->variants.count, "variants")};
  return make_struct(emitter, fields, FIELD_COUNT(fields));
}

/* --- objects --- */

/* A result that this Kernel fills has every byte written once; one it adds to is there before. */
static int64_t object_flags(const Plan *plan, int32_t object) {
  const Kernel *kernel = plan->kernel;
  if (object >= kernel->buffer_count) return XLAC_ONCORE_TEMPORARY;
  const KernelBuffer *buffer = &kernel->buffers[object];
  switch (buffer->role) {
    case KERNEL_OPERAND:
    case KERNEL_PARAMETERS: return XLAC_ONCORE_INITIALISED | XLAC_ONCORE_READ_ONLY;
    case KERNEL_IN_PLACE: return XLAC_ONCORE_INITIALISED;
    case KERNEL_RESULT:
      return tile_stored_elements(kernel, object) == buffer->element_count ? XLAC_ONCORE_WRITTEN_ONCE : 0;
    case KERNEL_OVERLAPPED: /* of parts, which machines with a Buffer do without */
    case KERNEL_SCRATCH: return 0;
  }
  XLAC_BUG("unknown role of a buffer");
}

/* An array that the plan does not touch in memory has no bytes there. */
static bool is_in_memory(const Plan *plan, int32_t object) {
  for (int32_t m = 0; m < plan->memory_count; m++) {
    if (plan_memory_object(plan, m) == object) return true;
  }
  return false;
}

static StringView object_name(const Plan *plan, int32_t object) {
  for (int32_t m = 0; m < plan->memory_count; m++) {
    if (plan_memory_object(plan, m) == object) return plan->memories[m].name;
  }
  return SV("");
}

static LLVMValueRef make_objects(const PlanEmitter *emitter) {
  const Plan *plan = emitter->plan;
  int32_t count = plan_object_count(plan);
  LLVMValueRef *objects = new_elements(emitter, count);
  for (int32_t o = 0; o < count; o++) {
    bool is_there = is_in_memory(plan, o);
    LLVMValueRef fields[] = {make_text(emitter, object_name(plan, o)),
                             oncore_word(emitter, is_there ? plan_object_bytes(plan, o) : 0),
                             oncore_word(emitter, is_there ? object_flags(plan, o) : 0)};
    objects[o] = make_struct(emitter, fields, FIELD_COUNT(fields));
  }
  return make_array(emitter, objects, count, "objects");
}

/* --- what outlives the kernel --- */

static int64_t resident_flags(const Plan *plan, const PlanTensor *tensor) {
  int64_t flags = tensor->hold == PLAN_FINDS ? XLAC_ONCORE_INITIALISED : XLAC_ONCORE_WRITTEN_ONCE;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *other = &plan->tensors[t];
    if (other->hold == PLAN_HOLDS_NOTHING || other->begin != tensor->begin) continue;
    bool is_updated = plan->kernel->buffers[other->held].role == KERNEL_IN_PLACE || plan_sums_held(plan, t);
    if (is_updated) return flags & ~(int64_t)XLAC_ONCORE_WRITTEN_ONCE;
    if (other->hold == PLAN_LEAVES && tensor->hold == PLAN_FINDS) return flags;
  }
  return tensor->hold == PLAN_FINDS ? flags | XLAC_ONCORE_READ_ONLY : flags;
}

static LLVMValueRef make_residents(const PlanEmitter *emitter, int64_t *out_count) {
  const Plan *plan = emitter->plan;
  LLVMValueRef *residents = new_elements(emitter, plan->tensor_count);
  *out_count = 0;
  for (int32_t t = 0; t < plan->tensor_count; t++) {
    const PlanTensor *tensor = &plan->tensors[t];
    if (tensor->hold == PLAN_HOLDS_NOTHING) continue;
    LLVMValueRef fields[] = {make_text(emitter, tensor->name), oncore_word(emitter, tensor->begin),
                             oncore_word(emitter, tensor->end - tensor->begin),
                             oncore_word(emitter, resident_flags(plan, tensor))};
    residents[(*out_count)++] = make_struct(emitter, fields, FIELD_COUNT(fields));
  }
  return make_array(emitter, residents, *out_count, "residents");
}

/* --- the kernel --- */

static LLVMValueRef make_queue_names(const PlanEmitter *emitter) {
  const MachineDescription *machine = emitter->emitter->machine;
  LLVMValueRef *names = new_elements(emitter, machine->queue_count);
  for (int32_t q = 0; q < machine->queue_count; q++) names[q] = make_text(emitter, machine->queues[q].name);
  return make_array(emitter, names, machine->queue_count, "queues");
}

LLVMValueRef plan_emit_record(PlanEmitter *emitter, const PlanFunctions *functions) {
  const Plan *plan = emitter->plan;
  int32_t queue_count = emitter->emitter->machine->queue_count;
  LLVMValueRef *commands = new_elements(emitter, plan->command_count);
  LLVMValueRef *descriptors = new_elements(emitter, plan->command_count);
  LLVMValueRef *reaches = new_elements(emitter, plan->command_count);
  LLVMValueRef *barriers = new_elements(emitter, plan->command_count);
  for (int32_t c = 0; c < plan->command_count; c++) {
    commands[c] = make_command(emitter, c);
    descriptors[c] = make_descriptors(emitter, &emitter->commands[c]);
    reaches[c] = make_reaches(emitter, c);
    barriers[c] = oncore_word(emitter, plan->commands[c].verb == PLAN_BARRIER ? -1 : 0);
  }
  int64_t own_begin, own_end, resident_count;
  plan_own_bytes(plan, &own_begin, &own_end);
  LLVMValueRef residents = make_residents(emitter, &resident_count);
  LLVMValueRef fields[] = {oncore_word(emitter, (int64_t)sizeof(XlacOncoreKernel)),
                           make_text(emitter, plan->name),
                           oncore_word(emitter, plan->buffer_bytes),
                           oncore_word(emitter, plan->alignment),
                           oncore_word(emitter, emitter->space->scratch_bytes_per_queue),
                           oncore_word(emitter, queue_count),
                           make_queue_names(emitter),
                           oncore_word(emitter, plan_object_count(plan)),
                           make_objects(emitter),
                           oncore_word(emitter, plan->command_count),
                           make_array(emitter, commands, plan->command_count, "commands"),
                           functions->run,
                           make_array(emitter, functions->queues, queue_count, "functions"),
                           functions->trace,
                           make_array(emitter, descriptors, plan->command_count, "descriptors"),
                           make_array(emitter, barriers, plan->command_count, "barriers"),
                           make_array(emitter, reaches, plan->command_count, "reaches"),
                           oncore_word(emitter, own_begin),
                           oncore_word(emitter, own_end),
                           oncore_word(emitter, resident_count),
                           residents};
  return private_constant(emitter, make_struct(emitter, fields, FIELD_COUNT(fields)),
                          arena_printf(emitter->arena, "%s.kernel", emitter->name));
}

/* --- a run of launches --- */

LLVMValueRef plan_emit_launches(PlanEmitter *emitter, const RunLaunch *launches) {
  int64_t count = 0, total = 0;
  for (int64_t l = 0; l < launches->count; l++) total += launches[l].link_count;
  LLVMValueRef *links = new_elements(emitter, total);
  for (int64_t l = 0; l < launches->count; l++) {
    for (int64_t i = 0; i < launches[l].link_count; i++) {
      const LaunchLink *link = &launches[l].links[i];
      LLVMValueRef fields[] = {
          half_word(emitter, l),          half_word(emitter, link->queue),      half_word(emitter, link->command),
          half_word(emitter, link->back), half_word(emitter, link->from_queue), half_word(emitter, link->from_command)};
      links[count++] = make_struct(emitter, fields, FIELD_COUNT(fields));
    }
  }
  LLVMValueRef fields[] = {oncore_word(emitter, (int64_t)sizeof(XlacOncoreRun)), oncore_word(emitter, launches->count),
                           oncore_word(emitter, total), make_array(emitter, links, total, "links")};
  return private_constant(emitter, make_struct(emitter, fields, FIELD_COUNT(fields)), "launches");
}
