/* Text → MachineDescription: what is special about sections of queues and operations.  The reader is base's, and what
 * sections and keys there are stands in vpt_schema.c. */
#include <string.h>

#include "base/nearest_word.h"
#include "hlo/machine/description/vpt_schema_internal.h"

/* --- types --- */

static PrimitiveType array_type_from_text(StringView text) {
  PrimitiveType type = type_from_text(text);
  return type_is_array(type) ? type : TYPE_INVALID;
}

static void unknown_type(SectionReader *reader, StringView text, SourceLoc loc) {
  SECTION_FAIL(reader, loc, "machine-type", "there is no element type '%.*s'", SV_ARG(text));
  NearestWord nearest = nearest_word_begin(text);
  for (int type = TYPE_INVALID + 1; type < PRIMITIVE_TYPE_COUNT; type++)
    if (type_is_array((PrimitiveType)type))
      nearest_word_offer(&nearest, sv_from_cstring(type_text((PrimitiveType)type)));
  nearest_word_note(&nearest, reader->diag);
}

void vpt_set_type(SectionReader *reader, StringView text, SourceLoc loc, void *place) {
  PrimitiveType type = array_type_from_text(text);
  if (type == TYPE_INVALID) unknown_type(reader, text, loc);
  memcpy(place, &type, sizeof type);
}

void vpt_set_unit(SectionReader *reader, StringView text, SourceLoc loc, void *place) {
  PrimitiveType type = array_type_from_text(text);
  if (type == TYPE_INVALID && !sv_equal_cstring(text, "1"))
    SECTION_FAIL(reader, loc, "machine-type", "'unit' is 1 (bytes) or an element type, not '%.*s'", SV_ARG(text));
  memcpy(place, &type, sizeof type);
}

_Static_assert(sizeof(MachineQueueKind) == sizeof(int) && sizeof(MachineCompletion) == sizeof(int) &&
                   sizeof(MachineSyncKind) == sizeof(int),
               "words are stored as int");

/* --- queues --- */

void *vpt_open_queue(SectionReader *reader, StringView name, SourceLoc loc) {
  VptDraft *draft = reader->context;
  for (int64_t i = 0; i < draft->queues.count; i++)
    if (sv_equal(draft->queues.data[i].name, name)) {
      section_duplicate(reader, loc, "queue", name, draft->queues.data[i].loc);
      return NULL;
    }
  draft->queue = (MachineQueue){.loc = loc, .name = name};
  return &draft->queue;
}

static bool is_exec(const SectionReader *reader) {
  return ((const MachineQueue *)reader->object)->kind == QUEUE_EXEC;
}

bool vpt_queue_needs(const SectionReader *reader, const SectionKey *key) {
  /* Without a kind (the first key) it is too early to say. */
  if ((key->flags & VPT_TRANSFER) && (is_exec(reader) || !reader->given[0])) return false;
  return key->flags & SECTION_NEEDED;
}

void vpt_close_queue(SectionReader *reader) {
  VptDraft *draft = reader->context;
  for (int i = 0; i < reader->rule->key_count; i++)
    if (reader->given[i] && is_exec(reader) && (reader->rule->keys[i].flags & VPT_TRANSFER))
      SECTION_FAIL(reader, reader->key_locs[i], "machine-queue",
                   "'%s' is for queues that transfer, and this one executes", reader->rule->keys[i].name);
  array_push(&draft->queues, reader->arena, draft->queue);
}

/* --- operations --- */

/* Keys of [op] after the costs. */
enum { KEY_INHERIT = MACHINE_COST_COUNT, KEY_SCALE };

void *vpt_open_op(SectionReader *reader, StringView name, SourceLoc loc) {
  VptDraft *draft = reader->context;
  draft->op_type = array_type_from_text(name);
  draft->op = (VptOpDraft){.costs = {.loc = loc}, .scale = 1};
  if (draft->op_type == TYPE_INVALID) {
    unknown_type(reader, name, loc);
    return NULL;
  }
  const MachineOpCosts *first = ((const MachineDescription *)reader->target)->ops[draft->op_type];
  if (first) section_duplicate(reader, loc, "type", name, first->loc);
  return first ? NULL : &draft->op;
}

bool vpt_op_needs(const SectionReader *reader, const SectionKey *key) {
  return !reader->given[KEY_INHERIT] && (key->flags & SECTION_NEEDED);
}

/* Inherited costs times |scale|; the rate of multiply-adds grows as the cycles shrink. */
static double inherited_cost(const VptOpDraft *op, const MachineOpCosts *parent, MachineCost cost) {
  return cost == COST_MAC ? parent->cost[cost] / op->scale : parent->cost[cost] * op->scale;
}

void vpt_close_op(SectionReader *reader) {
  VptDraft *draft = reader->context;
  MachineDescription *machine = reader->target;
  const VptOpDraft *op = &draft->op;
  const MachineOpCosts *parent = machine->ops[op->inherit];
  MachineOpCosts *costs = ARENA_COPY_ARRAY(reader->arena, MachineOpCosts, &op->costs, 1);
  if (op->inherit != TYPE_INVALID && !parent)
    SECTION_FAIL(reader, reader->key_locs[KEY_INHERIT], "machine-inherit", "no section 'op %s' stands above",
                 type_text(op->inherit));
  if (!reader->given[KEY_INHERIT] && reader->given[KEY_SCALE])
    SECTION_FAIL(reader, reader->key_locs[KEY_SCALE], "machine-inherit",
                 "'scale' needs 'inherit', whose costs it multiplies");
  for (int cost = 0; cost < MACHINE_COST_COUNT; cost++) {
    if (reader->given[cost]) continue;
    /* A fallback comes earlier in the table, so it is there. */
    costs->cost[cost] =
        parent ? inherited_cost(op, parent, (MachineCost)cost) : costs->cost[vpt_cost_fallback((MachineCost)cost)];
  }
  machine->ops[draft->op_type] = costs;
}

Status machine_description_parse(Arena *arena, const SourceFile *source, DiagSink *diag,
                                 MachineDescription *out_machine) {
  *out_machine = (MachineDescription){.isa = {.triple = SV("host")}};
  VptDraft draft = {0};
  Status status = section_read(arena, source, diag, vpt_schema(), out_machine, &draft);
  out_machine->queues = draft.queues.data;
  out_machine->queue_count = (int32_t)draft.queues.count;
  return status == STATUS_OK ? machine_description_verify(out_machine, diag) : status;
}
