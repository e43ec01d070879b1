#include "passes/cleanup/control_edges.h"
#include "passes/pipeline/hlo_pass.h"

/* cse: instructions that compute the same value are merged, found by a hash of opcode, operands and attributes.
 *
 * collective-cse merges collectives as well: of one program for all devices, in which all of them leave the same one
 * out. It runs where no choice has been made yet that depends on the machine that a device is. */

/* Candidates of one hash that are looked at; there is hardly ever a second. */
enum { CHAIN_LIMIT = 64 };

typedef struct CseEntry {
  HloInstruction *instruction;
  int64_t next;          /* with the same hash; -1 ends */
  bool is_distinguished; /* stands in another chain as well, by what it calls */
} CseEntry;

/* An instruction that calls computations is entered by what it reads alone; a second one with the same hash has both
 * entered by what they call as well, which is rarely worth a look otherwise. */
typedef struct CseTable {
  IntMap heads;  /* hash → index of an entry */
  IntMap bodies; /* computation id → hash of what it computes */
  ARRAY(CseEntry) entries;
  Arena *scratch;
} CseTable;

typedef bool Mergeable(const HloInstruction *instruction);

static bool is_pure(const HloInstruction *instruction) {
  /* A custom call says itself whether it does more than compute its results; loops, branches and calls do what they
   * hold.  Each start has an end of its own. */
  bool holds_it = hlo_opcode_has(instruction->opcode, OP_CONTROL_FLOW) && instruction->opcode != HLO_ASYNC_START;
  bool may_be_pure = instruction->opcode == HLO_CUSTOM_CALL || holds_it;
  if (may_be_pure) return !hlo_instruction_has_side_effect(instruction);
  return !hlo_opcode_has(instruction->opcode, OP_STAYS) && instruction->opcode != HLO_PARAMETER;
}

static bool is_pure_on_all_devices(const HloInstruction *instruction) {
  return hlo_opcode_is_collective(instruction->opcode) || is_pure(instruction);
}

static bool swaps_operands(const HloInstruction *instruction) {
  return hlo_opcode_has(instruction->opcode, OP_COMMUTES) && instruction->operand_count == 2 &&
         instruction->operands[0]->id > instruction->operands[1]->id;
}

/* Operand |index| in the order that does not depend on how commuting operands were written. */
static const HloInstruction *canonical_operand(const HloInstruction *instruction, int index) {
  return instruction->operands[swaps_operands(instruction) ? 1 - index : index];
}

static uint64_t instruction_hash(const HloInstruction *instruction) {
  uint64_t hash = hash_u64((uint64_t)instruction->opcode);
  hash = hash_combine(hash, (uint64_t)(uintptr_t)instruction->shape);
  for (int i = 0; i < instruction->operand_count; i++) {
    hash = hash_combine(hash, (uint64_t)canonical_operand(instruction, i)->id);
  }
  return hash_combine(hash, hlo_instruction_attrs_hash(instruction));
}

static bool same_value(const HloInstruction *a, const HloInstruction *b) {
  if (a->opcode != b->opcode || a->shape != b->shape || a->operand_count != b->operand_count) return false;
  for (int i = 0; i < a->operand_count; i++) {
    if (canonical_operand(a, i) != canonical_operand(b, i)) return false;
  }
  return hlo_instruction_equal_attrs(a, b);
}

/* The same for instructions that call the same computations. */
static uint64_t caller_hash(CseTable *table, const HloInstruction *caller, uint64_t hash) {
  int count = hlo_instruction_called_count(caller);
  for (int i = 0; i < count; i++) {
    const HloComputation *called = hlo_instruction_called(caller, i);
    int64_t body;
    if (!int_map_find(&table->bodies, (uint64_t)called->id, &body)) {
      body = (int64_t)hlo_computation_hash(called);
      int_map_set(&table->bodies, (uint64_t)called->id, body);
    }
    hash = hash_combine(hash, (uint64_t)body);
  }
  return hash;
}

static int64_t head_of(const CseTable *table, uint64_t hash) {
  int64_t head = -1;
  int_map_find(&table->heads, hash, &head);
  return head;
}

static void enter(CseTable *table, HloInstruction *instruction, uint64_t hash) {
  int64_t head = head_of(table, hash);
  int_map_set(&table->heads, hash, table->entries.count);
  array_push(&table->entries, table->scratch, ((CseEntry){.instruction = instruction, .next = head}));
}

/* The earlier instruction that |instruction| equals, or NULL after adding it. */
static HloInstruction *find_or_add(CseTable *table, HloInstruction *instruction) {
  uint64_t hash = instruction_hash(instruction);
  int64_t at = head_of(table, hash);
  if (at >= 0 && hlo_instruction_called_count(instruction) > 0) {
    CseEntry *first = &table->entries.data[at];
    HloInstruction *other = first->instruction;
    if (!first->is_distinguished) enter(table, other, caller_hash(table, other, hash));
    table->entries.data[at].is_distinguished = true;
    hash = caller_hash(table, instruction, hash);
    at = head_of(table, hash);
  }
  for (int seen = 0; at >= 0 && seen < CHAIN_LIMIT; seen++) {
    const CseEntry *entry = &table->entries.data[at];
    if (same_value(entry->instruction, instruction)) return entry->instruction;
    at = entry->next;
  }
  enter(table, instruction, hash);
  return NULL;
}

static bool merge_equal(HloPassContext *context, HloComputation *computation, Mergeable *is_mergeable) {
  Arena *scratch = context->scratch;
  bool changed = false;
  int64_t count;
  ControlEdges edges;
  control_edges_init(&edges, computation, scratch);
  CseTable table = {.scratch = scratch};
  int_map_init(&table.heads, scratch);
  int_map_init(&table.bodies, scratch);
  HloInstruction **order = hlo_computation_post_order(computation, scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    if (!hlo_pass_may_rewrite(context)) break;
    if (!is_mergeable(order[i]) || control_edges_touch(&edges, order[i])) continue;
    HloInstruction *earlier = find_or_add(&table, order[i]);
    if (earlier == NULL) continue;
    hlo_pass_count_rewrite(context, "merge", order[i]);
    /* A collective is not removed for being dead. */
    hlo_computation_replace_instruction(computation, order[i], earlier);
    changed = true;
  }
  if (changed) hlo_computation_remove_dead(computation);
  return changed;
}

static bool merge_all(HloPassContext *context, HloModule *module, Mergeable *is_mergeable) {
  bool changed = false;
  for (int64_t i = 0; i < module->computations.count; i++)
    changed |= merge_equal(context, module->computations.data[i], is_mergeable);
  return changed;
}

static Status run_cse(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= merge_all(context, module, is_pure);
  return STATUS_OK;
}

static Status run_collective_cse(HloPassContext *context, HloModule *module, bool *out_changed) {
  *out_changed |= merge_all(context, module, is_pure_on_all_devices);
  return STATUS_OK;
}

const HloPass hlo_cse_pass = {"cse", "merge instructions that compute the same value", run_cse, false};

const HloPass hlo_collective_cse_pass = {
    "collective-cse", "as cse; collectives that all devices would do twice as well", run_collective_cse, false};
