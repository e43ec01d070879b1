#include <string.h>

#include "codegen/kernel/kernel_draft.h"
#include "codegen/kernel/kernel_internal.h"
#include "codegen/kernel/kernel_sharing.h"

/* A group is found by the text of its Kernels with all that may be a parameter made one.  Equal texts mean equal
 * structures, so that a value has the same number in all of them, and what they differ in are bits of constants. */

typedef struct Group Group;

/* What was one Kernel so far. */
typedef struct Member {
  const Kernel *kernel;
  Group *group;        /* NULL: it may have no parameters */
  const uint64_t *own; /* its parameters, once the group shares */
} Member;

struct Group {
  const Kernel *first;
  int32_t identity; /* of |first| */
  int32_t count, parameter_count;
  bool *differs;        /* by value: not the same in all */
  const Kernel *shared; /* the Kernel that all are now; NULL: it is not worth it, or not made yet */
};

typedef struct Sharing {
  KernelTable *table;
  Arena *scratch;
  Member *members; /* by identity */
  StringMap groups;
} Sharing;

/* --- what may be a parameter --- */

/* Code for |apply| is as good where |operand| is only known when it runs.  Floats: as the emitter knows of no operation
 * that is simpler with a certain one, but for extrema, which need not ask whether a constant is NaN. */
static bool takes_any(const KernelValue *apply, const KernelValue *operand) {
  if (type_is_float(operand->type)) return true;
  OpCost cost = hlo_opcode_info(apply->opcode)->cost;
  return type_is_integral(operand->type) && (cost == OP_COST_ADD || cost == OP_COST_COMPARE || cost == OP_COST_SELECT);
}

static void exclude(bool *may, int32_t value) {
  if (value >= 0) may[value] = false;
}

static void exclude_index(const Kernel *kernel, IndexExpr expr, bool *may) {
  for (int i = 0; i < expr.term_count; i++) {
    const IndexAtom *atom = &kernel->space.atoms.data[expr.terms[i].atom];
    if (atom->kind == INDEX_ATOM_VALUE) exclude(may, atom->number);
    if (atom->kind == INDEX_ATOM_DIV || atom->kind == INDEX_ATOM_MOD) exclude_index(kernel, atom->inner, may);
  }
}

static void exclude_by_readers(const Kernel *kernel, bool *may) {
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    for (int i = 0; i < value->operand_count; i++) {
      if (!takes_any(value, &kernel->values[value->operands[i]])) exclude(may, value->operands[i]);
    }
    exclude(may, value->predicate);
    exclude_index(kernel, value->address, may);
  }
  for (int f = 0; f < kernel->fold_count; f++) {
    exclude(may, kernel->folds[f].seed);
    exclude(may, kernel->folds[f].next);
  }
  for (int s = 0; s < kernel->stage_count; s++) {
    for (int i = 0; i < kernel->stages[s].store_count; i++) {
      const KernelStore *store = &kernel->stages[s].stores[i];
      exclude(may, store->predicate);
      exclude_index(kernel, store->address, may);
    }
  }
}

/* By value; NULL when there is none. */
static bool *possible_parameters(Arena *arena, const Kernel *kernel) {
  if (kernel->part_count > 0 || kernel_sorting_stage(kernel) >= 0) return NULL;
  bool *may = ARENA_NEW_ARRAY(arena, bool, kernel->value_count + 1), any = false;
  for (int32_t v = 0; v < kernel->value_count; v++) {
    const KernelValue *value = &kernel->values[v];
    may[v] = value->kind == KERNEL_CONSTANT && type_storage_bytes(value->type) <= (int64_t)sizeof value->bits[0];
  }
  exclude_by_readers(kernel, may);
  for (int32_t v = 0; v < kernel->value_count; v++) any = any || may[v];
  return any ? may : NULL;
}

/* --- a Kernel with parameters --- */

/* One buffer for each element type, after those that are there. */
static int32_t parameters_of(Kernel *kernel, KernelBuffer *buffers, int32_t old_count, PrimitiveType type) {
  int32_t b = old_count;
  while (b < kernel->buffer_count && buffers[b].type != type) b++;
  if (b == kernel->buffer_count) {
    buffers[b] = (KernelBuffer){.role = KERNEL_PARAMETERS, .type = type, .operand = -1, .node = -1};
    kernel->buffer_count++;
  }
  return b;
}

/* |kernel| with loads in place of the constants |chosen|. */
static const Kernel *with_parameters(Arena *arena, const Kernel *kernel, const bool *chosen) {
  Kernel *made = ARENA_NEW(arena, Kernel);
  *made = *kernel;
  made->arena = arena;
  KernelValue *values = ARENA_NEW_ARRAY(arena, KernelValue, kernel->value_count);
  KernelBuffer *buffers = ARENA_NEW_ARRAY(arena, KernelBuffer, kernel->buffer_count + PRIMITIVE_TYPE_COUNT);
  memcpy(values, kernel->values, (size_t)kernel->value_count * sizeof *values);
  memcpy(buffers, kernel->buffers, (size_t)kernel->buffer_count * sizeof *buffers);
  for (int32_t v = 0; v < kernel->value_count; v++) {
    if (!chosen[v]) continue;
    int32_t b = parameters_of(made, buffers, kernel->buffer_count, values[v].type);
    values[v] = kernel_value_blank(KERNEL_LOAD, values[v].type);
    values[v].buffer = b;
    values[v].address = index_constant(buffers[b].element_count++);
  }
  made->values = values;
  made->buffers = buffers;
  kernel_values_depend(made, values);
  return made;
}

/* What the loads of |shared| find for |member|, by buffer and element. */
static const uint64_t *parameters_for(Arena *arena, const Group *group, const Kernel *member) {
  const Kernel *shared = group->shared;
  uint64_t *bits = ARENA_NEW_ARRAY(arena, uint64_t, group->parameter_count);
  int32_t next = 0;
  for (int32_t b = 0; b < shared->buffer_count; b++) {
    if (shared->buffers[b].role != KERNEL_PARAMETERS) continue;
    for (int32_t v = 0; v < shared->value_count; v++) {
      if (group->differs[v] && shared->values[v].buffer == b) bits[next++] = member->values[v].bits[0];
    }
  }
  return bits;
}

/* --- groups --- */

static void join_group(Sharing *sharing, Member *member, int32_t identity) {
  bool *may = possible_parameters(sharing->scratch, member->kernel);
  if (may == NULL) return;
  StringView text = kernel_text(sharing->scratch, with_parameters(sharing->scratch, member->kernel, may));
  Group *group = string_map_get(&sharing->groups, text);
  if (group == NULL) {
    group = ARENA_NEW(sharing->scratch, Group);
    group->first = member->kernel;
    group->identity = identity;
    group->differs = ARENA_NEW_ARRAY(sharing->scratch, bool, member->kernel->value_count);
    string_map_set(&sharing->groups, text, group);
  }
  group->count++;
  member->group = group;
  for (int32_t v = 0; v < member->kernel->value_count; v++) {
    bool differs = may[v] && member->kernel->values[v].bits[0] != group->first->values[v].bits[0];
    if (!differs || group->differs[v]) continue;
    group->differs[v] = true;
    group->parameter_count++;
  }
}

static void make_groups(Sharing *sharing, bool (*has_function)(const Kernel *kernel)) {
  const KernelTable *table = sharing->table;
  for (int64_t r = 0; r < table->rows.count; r++) {
    const KernelUses *row = &table->rows.data[r];
    for (int32_t i = 0; i < row->count; i++) {
      Member *member = &sharing->members[row->uses[i].identity];
      if (member->kernel != NULL) continue;
      member->kernel = row->uses[i].kernel;
      if (has_function(member->kernel)) join_group(sharing, member, row->uses[i].identity);
    }
  }
}

/* --- uses --- */

static KernelUse changed_use(void *self, KernelUse use) {
  Sharing *sharing = self;
  Arena *arena = sharing->table->arena;
  Member *member = &sharing->members[use.identity];
  Group *group = member->group;
  if (group == NULL || group->count < KERNEL_SHARING_LEAST) return use;
  if (group->shared == NULL) group->shared = with_parameters(arena, group->first, group->differs);
  if (member->own == NULL) member->own = parameters_for(arena, group, member->kernel);
  use.kernel = kernel_bound_as(arena, group->shared, use.kernel);
  use.identity = group->identity;
  use.parameters = member->own;
  return use;
}

void kernel_table_share_constants(KernelTable *table, bool (*has_function)(const Kernel *kernel)) {
  Arena *scratch = arena_create();
  Sharing sharing = {.table = table, .scratch = scratch};
  sharing.members = ARENA_NEW_ARRAY(scratch, Member, table->identity_count);
  string_map_init(&sharing.groups, scratch);
  make_groups(&sharing, has_function);
  kernel_table_change(table, changed_use, &sharing);
  arena_destroy(scratch);
}
