/* The order that shared memory relies on, as control predecessors: readers of a value before what overwrites it. */
#include "base/array.h"
#include "passes/buffers/copy_insertion.h"

typedef ARRAY(HloInstruction *) InstructionArray;

typedef struct EdgeMaker {
  const BufferAnalysis *analysis;
  Arena *module_arena, *scratch;
  int32_t *stamps; /* by instruction id: the last search that came by */
  int32_t searches;
  bool changed;
} EdgeMaker;

/* So many steps are spent on showing that an edge is implied; one too many does no harm. */
enum { SEARCH_LIMIT = 512 };

static int32_t time_of(const EdgeMaker *maker, const HloInstruction *instruction) {
  return maker->analysis->ordering->times[instruction->id];
}

static void push_earlier(EdgeMaker *maker, InstructionArray *work, HloInstruction *next, const HloInstruction *wanted) {
  if (maker->stamps[next->id] == maker->searches || time_of(maker, next) < time_of(maker, wanted)) return;
  maker->stamps[next->id] = maker->searches;
  array_push(work, maker->scratch, next);
}

/* |later| waits for |earlier| already. */
static bool is_implied(EdgeMaker *maker, const HloInstruction *earlier, HloInstruction *later) {
  InstructionArray work = {0};
  maker->searches++;
  array_push(&work, maker->scratch, later);
  for (int steps = 0; work.count > 0 && steps < SEARCH_LIMIT; steps++) {
    const HloInstruction *instruction = array_pop(&work);
    if (instruction == earlier) return true;
    const HloAttr *control = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
    for (int i = 0; i < instruction->operand_count; i++) push_earlier(maker, &work, instruction->operands[i], earlier);
    for (int64_t i = 0; control && i < control->value.instructions.count; i++) {
      push_earlier(maker, &work, control->value.instructions.data[i], earlier);
    }
  }
  return false;
}

static void add_predecessors(EdgeMaker *maker, HloInstruction *instruction, const InstructionArray *added) {
  const HloAttr *old = hlo_instruction_attr(instruction, HLO_ATTR_CONTROL_PREDECESSORS);
  HloAttr attr = old ? *old : (HloAttr){.id = HLO_ATTR_CONTROL_PREDECESSORS};
  int64_t count = old ? old->value.instructions.count : 0;
  HloInstruction **list = ARENA_NEW_ARRAY(maker->module_arena, HloInstruction *, count + added->count);
  for (int64_t i = 0; i < count; i++) list[i] = old->value.instructions.data[i];
  for (int64_t i = 0; i < added->count; i++) list[count + i] = added->data[i];
  attr.value.instructions.count = count + added->count;
  attr.value.instructions.data = list;
  hlo_instruction_set_attr(instruction, &attr);
  maker->changed = true;
}

typedef struct ReaderList {
  InstructionArray all;    /* each once */
  InstructionArray needed; /* those that the writer does not wait for already */
} ReaderList;

static void note_reader(EdgeMaker *maker, HloInstruction *reader, HloInstruction *writer, ReaderList *list) {
  if (reader == writer || reader->opcode == HLO_PARAMETER || writer->opcode == HLO_PARAMETER) return;
  if (time_of(maker, reader) >= time_of(maker, writer)) return; /* exclusive branches */
  for (int64_t i = 0; i < list->all.count; i++) {
    if (list->all.data[i] == reader) return;
  }
  array_push(&list->all, maker->scratch, reader);
  if (!is_implied(maker, reader, writer)) array_push(&list->needed, maker->scratch, reader);
}

/* Orders what reads or contains readers of |earlier| in the writer's computation before |writer|; how many of the
 * readers run elsewhere. */
static int32_t order_level(EdgeMaker *maker, const HloValue *earlier, HloInstruction *writer) {
  const CallGraph *graph = maker->analysis->graph;
  ReaderList list = {0};
  int32_t count = earlier->use_count > 0 ? earlier->use_count : 1, elsewhere = 0;
  for (int32_t i = 0; i < count; i++) {
    const HloInstruction *from = earlier->use_count > 0 ? earlier->uses[i].user : earlier->definition.instruction;
    const HloInstruction *reader = call_graph_ancestor(graph, from, writer->parent);
    elsewhere += reader == NULL;
    if (reader) note_reader(maker, (HloInstruction *)reader, writer, &list);
  }
  if (list.needed.count > 0) add_predecessors(maker, writer, &list.needed);
  return elsewhere;
}

/* The readers of |earlier| (its maker, when nothing reads it) are done before |later| is written: in each computation
 * around the writer, what reads or contains readers comes before what writes or contains the writer.  Around a
 * computation that contains all of them, one instruction contains readers and writer alike. */
static void order_pair(EdgeMaker *maker, const HloValue *earlier, const HloValue *later) {
  HloInstruction *writer = (HloInstruction *)later->definition.instruction;
  while (writer != NULL && order_level(maker, earlier, writer) > 0)
    writer = call_graph_caller(maker->analysis->graph, writer->parent);
}

bool copy_insertion_add_reuse_edges(HloModule *module, const BufferAnalysis *analysis) {
  EdgeMaker maker = {.analysis = analysis, .module_arena = module->arena, .scratch = arena_create()};
  maker.stamps = ARENA_NEW_ARRAY(maker.scratch, int32_t, module->next_instruction_id + 1);
  const HloDataflow *flow = analysis->flow;
  for (int32_t value = 0; value < flow->value_count; value++) {
    if (hlo_alias_set(analysis->alias, value) != value) continue;
    if (flow->values[value].size == 0) continue; /* no bytes: nothing is overwritten */
    const HloAliasSet *set = &analysis->alias->sets[value];
    for (int32_t i = 1; i < set->count; i++) {
      int32_t earlier = analysis->liveness->values[set->ranges[i - 1]],
              later = analysis->liveness->values[set->ranges[i]];
      bool is_written = set->ranges[i] == analysis->liveness->first_ranges[later]; /* or seen again in another branch */
      if (is_written) order_pair(&maker, &flow->values[earlier], &flow->values[later]);
    }
  }
  arena_destroy(maker.scratch);
  return maker.changed;
}
