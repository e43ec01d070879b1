/* Multi-output fusion: results that one nest of loops can make (loop_nest.h) and that save bytes together, because they
 * read the same elements or because one reads the other.  For a machine with a Buffer, what is made element by element
 * from a contraction's sums is made with them: the update of a weight with its gradient, which is never stored.
 *
 * Works on what the other fusions have left, operands before users: each instruction joins the group that saves most,
 * or begins one.  A group becomes a fusion with a tuple of results.  A path from a member to a later one that leads
 * through others would make a loop, so it keeps them apart. */
#include "base/checked_math.h"
#include "hlo/analysis/loop_nest.h"
#include "hlo/analysis/row_alignment.h"
#include "hlo/machine/description/machine_abilities.h"
#include "passes/cleanup/control_edges.h"
#include "passes/fusion/fused_body.h"
#include "passes/fusion/fusion_decision.h"
#include "passes/fusion/fusion_reads.h"
#include "passes/pipeline/control_computations.h"
#include "passes/pipeline/hlo_pass.h"

enum {
  MEMBER_LIMIT = 16,
  INSTRUCTION_LIMIT = 400,
  OPERAND_LIMIT = 60,
  ROUND_LIMIT = 8,
  USER_LIMIT = 32,     /* of one value, looked at for siblings */
  SPAN_LIMIT = 1024,   /* instructions between members */
  SEARCH_LIMIT = 2048, /* instructions looked at for a path */
  SHORT_ROW = 4        /* elements, fewer are too few for a loop over rows */
};

/* What a cache still has when it is read: half of a shared cache of usual size; stores of more pass it by. */
#define KEPT_BYTES (INT64_C(16) << 20)

/* An instruction that may be made together with others. */
typedef struct Node {
  HloInstruction *instruction;
  int32_t group; /* -1: none may be */
  LoopNest nest;
  FusionReads reads;
  bool joins_pieces; /* equal ones, each of which is computed */
} Node;

typedef struct Group {
  int32_t count, members[MEMBER_LIMIT]; /* nodes, operands before users */
  LoopNest nests[MEMBER_LIMIT];
  int64_t instruction_count;
} Group;

typedef struct Grouper {
  Arena *arena;
  HloComputation *computation;
  const HloDecisionObserver *observer;
  bool has_buffer;      /* the machine has one: what an operation does not need is moved all the same */
  int64_t buffer_bytes; /* of that */
  int32_t count;
  Node *nodes;    /* post-order */
  IntMap numbers; /* instruction id → node */
  ARRAY(Group) groups;
  int32_t *floors; /* by node: the lowest member of a group that reaches beyond it */
  int32_t *stamps; /* by node: the search that has seen it */
  int32_t search;
} Grouper;

/* A Kernel of its own that makes one array. */
static bool is_candidate(const Grouper *grouper, const HloInstruction *instruction) {
  const Shape *shape = instruction->shape;
  if (!shape_is_array(shape) || hlo_instruction_is_unread(instruction)) return false;
  if (instruction->opcode == HLO_FUSION) return true;
  if (fusion_is_contraction(instruction)) return grouper->has_buffer;
  if (shape->rank == 0 && instruction->opcode != HLO_REDUCE) return false; /* computed by the caller */
  return fusion_can_be_root(instruction) && hlo_opcode_info(instruction->opcode)->flow != OP_FLOW_VIEW;
}

static int32_t node_of(const Grouper *grouper, const HloInstruction *instruction) {
  int64_t number = -1;
  int_map_find(&grouper->numbers, (uint64_t)instruction->id, &number);
  return (int32_t)number;
}

/* --- whether a node may join --- */

/* How |node| is made when members that it reads are inside as well: rows, if one of those is reduced.  Beside columns
 * that are reduced no row is walked. */
static LoopNest nest_inside(const Grouper *grouper, const Group *group, const Node *node) {
  LoopNest nest = node->nest;
  for (int32_t i = 0; i < group->count && nest.kind == LOOP_NEST_ELEMENTS; i++) {
    if (group->nests[i].kind != LOOP_NEST_REDUCED) continue;
    if (!hlo_instruction_uses(node->instruction, grouper->nodes[group->members[i]].instruction)) continue;
    nest.kind = LOOP_NEST_REDUCED;
    nest.reduce = group->nests[i].reduce;
    nest.rows = group->nests[i].rows;
    bool is_whole_row = shape_element_count(nest.shape) > nest.rows;
    if (hlo_row_dims(nest.shape, nest.rows) < 0 || (is_whole_row && !hlo_reduces_rows(nest.reduce, nest.rows)))
      nest.kind = LOOP_NEST_NONE;
  }
  return nest;
}

/* Rows of what both nests make together, 0 where nothing is reduced to rows. */
static int64_t rows_of(const LoopNest *a, const LoopNest *b) {
  if (a->kind == LOOP_NEST_REDUCED) return a->rows;
  return b->kind == LOOP_NEST_REDUCED ? b->rows : 0;
}

/* |member|, which |node| reads, is there when it is read: the same element, or somewhere in the same row. */
static bool reads_member_in_step(const Grouper *grouper, const Node *node, const Node *member, const LoopNest *nest,
                                 const LoopNest *made) {
  bool is_by_element = made->kind == LOOP_NEST_ELEMENTS || made->kind == LOOP_NEST_SUMS;
  if (is_by_element && fusion_reads_in_place(&node->reads, member->instruction)) return true;
  int64_t rows = rows_of(nest, made);
  return rows > 0 && row_aligned(node->instruction, member->instruction, rows, grouper->arena);
}

/* Bytes of |operand| that need not be read again. */
static bool shares_read(const Grouper *grouper, const Group *group, const Node *node, const LoopNest *nest,
                        const HloInstruction *operand) {
  for (int32_t i = 0; i < group->count; i++) {
    const Node *member = &grouper->nodes[group->members[i]];
    if (!hlo_instruction_uses(member->instruction, operand)) continue;
    if (fusion_reads_agree(&node->reads, &member->reads, operand)) return true;
    int64_t rows = rows_of(nest, &group->nests[i]);
    if (rows > 0 && row_aligned(node->instruction, operand, rows, grouper->arena) &&
        row_aligned(member->instruction, operand, rows, grouper->arena))
      return true;
  }
  return false;
}

static bool is_member(const Grouper *grouper, int32_t group, const HloInstruction *instruction) {
  int32_t number = node_of(grouper, instruction);
  return number >= 0 && grouper->nodes[number].group == group;
}

/* Bytes that |node| saves in |number|; -1 when a member is not there when it is read. */
static int64_t saved_bytes(const Grouper *grouper, int32_t number, const Node *node, const LoopNest *nest) {
  const Group *group = &grouper->groups.data[number];
  int64_t saved = 0;
  const HloInstruction *instruction = node->instruction;
  for (int k = 0; k < instruction->operand_count; k++) {
    const HloInstruction *operand = instruction->operands[k];
    bool again = operand->shape->rank == 0;
    for (int j = 0; j < k; j++) again |= instruction->operands[j] == operand;
    if (again) continue;
    if (!is_member(grouper, number, operand)) {
      if (shares_read(grouper, group, node, nest, operand)) saved += fusion_value_bytes(operand);
      continue;
    }
    int32_t made = node_of(grouper, operand);
    for (int32_t i = 0; i < group->count; i++) {
      if (group->members[i] != made) continue;
      if (!reads_member_in_step(grouper, node, &grouper->nodes[made], nest, &group->nests[i])) return -1;
    }
    saved += fusion_value_bytes(operand);
  }
  return saved;
}

static int64_t operand_count(const Grouper *grouper, int32_t number, const Node *node) {
  const Group *group = &grouper->groups.data[number];
  IntMap seen;
  int_map_init(&seen, grouper->arena);
  for (int32_t i = 0; i <= group->count; i++) {
    const HloInstruction *member =
        i == group->count ? node->instruction : grouper->nodes[group->members[i]].instruction;
    for (int k = 0; k < member->operand_count; k++) {
      if (!is_member(grouper, number, member->operands[k])) int_map_set(&seen, (uint64_t)member->operands[k]->id, 1);
    }
  }
  return seen.count;
}

static bool nests_unite(const Group *group, const LoopNest *nest) {
  LoopNest nests[MEMBER_LIMIT + 1];
  for (int32_t i = 0; i < group->count; i++) nests[i] = group->nests[i];
  nests[group->count] = *nest;
  return hlo_loop_nests_unite(nests, group->count + 1);
}

/* The part of a loop's state that |made|, an element of what the body returns, is the next value of; NULL: none. */
static const HloInstruction *state_before(const Grouper *grouper, const HloInstruction *made) {
  const HloComputation *body = grouper->computation;
  const HloInstruction *root = body->root;
  if (root->opcode != HLO_TUPLE || body->parameters.count != 1 || body->parameters.data[0]->shape != root->shape)
    return NULL;
  const HloInstruction *state = body->parameters.data[0];
  for (int32_t u = 0; u < made->user_count; u++) {
    if (made->users[u] != root) continue;
    int64_t index = hlo_instruction_first_use(made, u);
    for (int32_t s = 0; s < state->user_count; s++) {
      const HloInstruction *element = state->users[s];
      if (element->opcode == HLO_GET_TUPLE_ELEMENT && hlo_instruction_int(element, HLO_ATTR_INDEX, -1) == index)
        return element;
    }
  }
  return NULL;
}

/* |writer| could overwrite a loop's state, which |reader| reads at other elements than it makes: together they could
 * not, and what they make would have to be copied. */
static bool overwrites_read_state(const Grouper *grouper, const Node *writer, const Node *reader) {
  const HloInstruction *state = state_before(grouper, writer->instruction);
  if (state == NULL || !hlo_instruction_uses(reader->instruction, state)) return false;
  bool keeps = !hlo_instruction_uses(writer->instruction, state) || fusion_reads_in_place(&writer->reads, state);
  return keeps && !fusion_reads_in_place(&reader->reads, state);
}

static bool loses_place(const Grouper *grouper, const Group *group, const Node *node) {
  for (int32_t i = 0; i < group->count; i++) {
    const Node *member = &grouper->nodes[group->members[i]];
    if (overwrites_read_state(grouper, node, member) || overwrites_read_state(grouper, member, node)) return true;
  }
  return false;
}

/* Of a value that something in the computation reads; 0 for what goes to memory in any case: too much for the cache, or
 * only handed out. */
static int64_t kept_bytes(const HloInstruction *value) {
  const HloInstruction *root = value->parent->root;
  int64_t bytes = fusion_value_bytes(value);
  bool is_handed_out = value == root || (value->user_count == 1 && value->users[0] == root);
  return is_handed_out || bytes > KEPT_BYTES ? 0 : bytes;
}

/* Apart, each result is read soon after it was made; all made at once, the first have left the cache by then. */
static bool crowds_cache(const Grouper *grouper, const Group *group, const Node *node) {
  int64_t bytes = kept_bytes(node->instruction);
  if (bytes == 0) return false;
  for (int32_t i = 0; i < group->count; i++) {
    const HloInstruction *member = grouper->nodes[group->members[i]].instruction;
    if (hlo_instruction_uses(node->instruction, member)) return false;
    bytes += kept_bytes(member);
  }
  return bytes > KEPT_BYTES;
}

/* Elements alone are made piece by piece, each by what it is made from.  A reduction walks all of them in one loop, at
 * each element of which every piece is computed. */
static bool mixes_pieces(const Grouper *grouper, const Group *group, const Node *node, const LoopNest *nest) {
  bool reduces = nest->kind == LOOP_NEST_REDUCED, joins = node->joins_pieces;
  if (!grouper->has_buffer) return false;
  for (int32_t i = 0; i < group->count; i++) {
    reduces = reduces || group->nests[i].kind == LOOP_NEST_REDUCED;
    joins = joins || grouper->nodes[group->members[i]].joins_pieces;
  }
  return reduces && joins;
}

/* |value| is stored whoever makes it: it is handed out, or what reads it has other loops. */
static bool is_stored_anyway(const Grouper *grouper, const HloInstruction *value) {
  if (hlo_instruction_is_root(value)) return true;
  for (int32_t u = 0; u < value->user_count; u++) {
    const HloInstruction *user = value->users[u];
    const HloComputation *fused = hlo_instruction_fused(user);
    LoopNestKind kind = hlo_loop_nest(fused != NULL ? fused->root : user, fused == NULL, grouper->arena).kind;
    if (kind == LOOP_NEST_NONE || kind == LOOP_NEST_SUMS) return true;
  }
  return false;
}

/* |node| reads, element by element, an array as large as its result, which may take the place of that. */
static bool may_overwrite(const Grouper *grouper, int32_t group, const Node *node) {
  const HloInstruction *made = node->instruction;
  for (int k = 0; k < made->operand_count; k++) {
    const HloInstruction *operand = made->operands[k];
    bool is_like = shape_is_array(operand->shape) && fusion_value_bytes(operand) == fusion_value_bytes(made);
    bool is_outside = !is_member(grouper, group, operand);
    if (is_like && is_outside && fusion_reads_in_place(&node->reads, operand)) return true;
  }
  return false;
}

/* The factors of |contraction| have too many bytes beside its sums.  By themselves sums are stored and loaded once, if
 * they are too large to stay in the Buffer meanwhile: from half of it on.  Made with what they update, each tile of
 * sums reads its share of the factors, and the more of what is made with the sums is in the Buffer, the smaller are the
 * tiles: as a rule each factor comes twice. */
static bool has_large_factors(const Grouper *grouper, const HloInstruction *contraction) {
  int64_t sums = shape_byte_size(contraction->shape);
  int64_t factors = fusion_value_bytes(contraction->operands[0]) + fusion_value_bytes(contraction->operands[1]);
  bool may_stay = sums <= grouper->buffer_bytes / 2;
  return factors >= (may_stay ? sums : 2 * sums);
}

/* Why |node| is not made with the sums of the contraction that group |number| begins with; NULL: it is, or there is no
 * contraction.  What else that made would take room from its tiles, and memory while its operands are there; and what
 * a reduction may make as it reads need not be stored. */
static const char *sums_refusal(const Grouper *grouper, int32_t number, const Node *node) {
  const Group *group = &grouper->groups.data[number];
  bool reads = false;
  if (group->nests[0].kind != LOOP_NEST_SUMS) return NULL;
  if (has_large_factors(grouper, group->nests[0].contraction))
    return "the contraction's factors are large beside its sums";
  for (int32_t i = 0; i < group->count; i++)
    reads = reads || hlo_instruction_uses(node->instruction, grouper->nodes[group->members[i]].instruction);
  if (!reads) return "it is not made from what the contraction makes";
  if (!may_overwrite(grouper, number, node)) return "it would take memory while the contraction's operands do";
  return is_stored_anyway(grouper, node->instruction) ? NULL : "what reads it may make it";
}

/* --- paths --- */

/* Nothing below depends on a node at or above |low|, whichever groups it passes through. */
static int32_t search_floor(const Grouper *grouper, int32_t low) {
  while (grouper->floors[low] < low) low = grouper->floors[low];
  return low;
}

typedef ARRAY(int32_t) Worklist;

static void push_operands(Grouper *grouper, Worklist *work, int32_t of, int32_t floor) {
  const HloInstruction *instruction = grouper->nodes[of].instruction;
  for (int k = 0; k < instruction->operand_count; k++) {
    int32_t number = node_of(grouper, instruction->operands[k]);
    if (number < floor || grouper->stamps[number] == grouper->search) continue;
    grouper->stamps[number] = grouper->search;
    array_push(work, grouper->arena, number);
  }
}

/* A path from a member of |number| to |node| through another instruction; or too much to look at. */
static bool has_path(Grouper *grouper, int32_t number, int32_t node) {
  Worklist work = {0};
  int32_t floor = search_floor(grouper, grouper->groups.data[number].members[0]), seen = 0;
  grouper->search++;
  const HloInstruction *instruction = grouper->nodes[node].instruction;
  for (int k = 0; k < instruction->operand_count; k++) {
    int32_t operand = node_of(grouper, instruction->operands[k]);
    if (operand < floor || grouper->nodes[operand].group == number || grouper->stamps[operand] == grouper->search)
      continue;
    grouper->stamps[operand] = grouper->search;
    array_push(&work, grouper->arena, operand);
  }
  while (work.count > 0) {
    int32_t at = array_pop(&work), group = grouper->nodes[at].group;
    if (group == number || ++seen > SEARCH_LIMIT) return true;
    if (group < 0) {
      push_operands(grouper, &work, at, floor);
      continue;
    }
    const Group *passed = &grouper->groups.data[group];
    for (int32_t i = 0; i < passed->count; i++) push_operands(grouper, &work, passed->members[i], floor);
  }
  return false;
}

/* --- decisions --- */

static void observe(const Grouper *grouper, int32_t number, const Node *node, bool taken, const char *reason) {
  if (grouper->observer == NULL) return;
  const Group *group = &grouper->groups.data[number];
  grouper->observer->decided(grouper->observer->context, "multi-output-fusion", node->instruction,
                             grouper->nodes[group->members[group->count - 1]].instruction, taken, reason);
}

/* Elements would be made in rows of two or three, beside what these rows are reduced to: a loop over all of them stores
 * whole registers, one over rows two or three elements at a time.  For a machine with a Buffer fewer bytes count more.
 */
static bool cuts_registers(const Grouper *grouper, const Group *group, const LoopNest *nest) {
  int64_t elements = nest->kind == LOOP_NEST_ELEMENTS ? shape_element_count(nest->shape) : 0;
  int64_t rows = nest->kind == LOOP_NEST_REDUCED ? nest->rows : 0;
  for (int32_t i = 0; i < group->count; i++) {
    const LoopNest *member = &group->nests[i];
    if (member->kind == LOOP_NEST_ELEMENTS) elements = shape_element_count(member->shape);
    if (member->kind == LOOP_NEST_REDUCED) rows = member->rows;
  }
  return !grouper->has_buffer && rows < elements && elements < SHORT_ROW * rows;
}

/* NULL when |node| may join, else why not; |out_saved| bytes. */
static const char *refusal(Grouper *grouper, int32_t number, int32_t node, LoopNest *out_nest, int64_t *out_saved) {
  const Group *group = &grouper->groups.data[number];
  const Node *candidate = &grouper->nodes[node];
  *out_nest = nest_inside(grouper, group, candidate);
  if (!nests_unite(group, out_nest)) return "one nest of loops cannot make both";
  *out_saved = saved_bytes(grouper, number, candidate, out_nest);
  if (*out_saved < 0) return "it reads elements that the other has not made yet";
  if (*out_saved == 0) return "they read the same array, but not the same elements of it";
  if (cuts_registers(grouper, group, out_nest)) return "rows of two or three elements are too short to be walked";
  const char *reason = sums_refusal(grouper, number, candidate);
  if (reason != NULL) return reason;
  if (loses_place(grouper, group, candidate)) return "it overwrites in place what the other reads elsewhere";
  if (mixes_pieces(grouper, group, candidate, out_nest)) return "a reduction would walk pieces that are computed";
  if (crowds_cache(grouper, group, candidate)) return "its results would leave the cache before they are read";
  if (group->count == MEMBER_LIMIT) return "the fusion has results enough";
  if (node - group->members[0] > SPAN_LIMIT) return "they stand far apart";
  if (group->instruction_count + fusion_instruction_count(candidate->instruction) > INSTRUCTION_LIMIT)
    return "the fusion is large enough";
  if (operand_count(grouper, number, candidate) > OPERAND_LIMIT) return "the fusion has operands enough";
  return NULL;
}

/* Groups that |node| reads from or shares an operand with, each once. */
static void collect_groups(const Grouper *grouper, int32_t node, Worklist *groups) {
  const HloInstruction *instruction = grouper->nodes[node].instruction;
  for (int k = 0; k < instruction->operand_count; k++) {
    const HloInstruction *operand = instruction->operands[k];
    if (operand->shape->rank == 0 || !shape_is_array(operand->shape)) continue;
    int32_t users = (int32_t)min_i64(operand->user_count, USER_LIMIT);
    for (int32_t u = -1; u < users; u++) {
      int32_t other = node_of(grouper, u < 0 ? operand : operand->users[u]);
      if (other < 0 || other >= node || grouper->nodes[other].group < 0) continue;
      bool again = false;
      for (int64_t i = 0; i < groups->count; i++) again |= groups->data[i] == grouper->nodes[other].group;
      if (!again) array_push(groups, grouper->arena, grouper->nodes[other].group);
    }
  }
}

static void join(Grouper *grouper, int32_t number, int32_t node, const LoopNest *nest) {
  Group *group = &grouper->groups.data[number];
  int32_t last = group->members[group->count - 1], low = search_floor(grouper, group->members[0]);
  for (int32_t n = last + 1; n <= node; n++) grouper->floors[n] = (int32_t)min_i64(grouper->floors[n], low);
  group->nests[group->count] = *nest;
  group->members[group->count++] = node;
  group->instruction_count += fusion_instruction_count(grouper->nodes[node].instruction);
  grouper->nodes[node].group = number;
}

static void begin_group(Grouper *grouper, int32_t node) {
  Group group = {.count = 1, .instruction_count = fusion_instruction_count(grouper->nodes[node].instruction)};
  group.members[0] = node;
  group.nests[0] = grouper->nodes[node].nest;
  grouper->nodes[node].group = (int32_t)grouper->groups.count;
  array_push(&grouper->groups, grouper->arena, group);
}

static void place(Grouper *grouper, int32_t node) {
  Worklist groups = {0};
  int32_t best = -1;
  int64_t most = 0;
  LoopNest best_nest = {.kind = LOOP_NEST_NONE};
  if (grouper->nodes[node].nest.kind != LOOP_NEST_SUMS) collect_groups(grouper, node, &groups);
  for (int64_t i = 0; i < groups.count; i++) {
    LoopNest nest;
    int64_t saved = 0;
    const char *reason = refusal(grouper, groups.data[i], node, &nest, &saved);
    if (reason == NULL && saved <= most) reason = "it saves more in another fusion";
    if (reason == NULL && has_path(grouper, groups.data[i], node))
      reason = "something between them needs the one first";
    if (reason != NULL) {
      observe(grouper, groups.data[i], &grouper->nodes[node], false, reason);
      continue;
    }
    best = groups.data[i];
    best_nest = nest;
    most = saved;
  }
  if (best < 0) {
    begin_group(grouper, node);
    return;
  }
  observe(grouper, best, &grouper->nodes[node], true, "what both read is read once");
  join(grouper, best, node, &best_nest);
}

/* --- what only a group reads --- */

/* Whether all users of |made| are members of group |number|, each of which reads it element by element. */
static bool is_only_read_in_step(const Grouper *grouper, int32_t number, const HloInstruction *made) {
  for (int32_t u = 0; u < made->user_count; u++) {
    const HloInstruction *user = made->users[u];
    if (!is_member(grouper, number, user)) return false;
    if (!fusion_reads_in_place(&grouper->nodes[node_of(grouper, user)].reads, made)) return false;
  }
  return made->user_count > 0 && !hlo_instruction_is_root(made);
}

/* Whether |node|, a group of its own, may be made where group |number| reads it.  Nothing lies between them: a path
 * from a member to it would have been one to the member that reads it. */
static bool may_take_in(const Grouper *grouper, int32_t number, int32_t node) {
  const Node *made = &grouper->nodes[node];
  const Group *group = &grouper->groups.data[number];
  bool is_alone = made->group >= 0 && made->group != number && grouper->groups.data[made->group].count == 1;
  if (!is_alone || made->nest.kind != LOOP_NEST_ELEMENTS || group->count == MEMBER_LIMIT) return false;
  if (group->instruction_count + fusion_instruction_count(made->instruction) > INSTRUCTION_LIMIT) return false;
  return is_only_read_in_step(grouper, number, made->instruction) && nests_unite(group, &made->nest) &&
         operand_count(grouper, number, made) <= OPERAND_LIMIT;
}

/* Adds |node| to group |number| before its users. */
static void take_in(Grouper *grouper, int32_t number, int32_t node) {
  Group *group = &grouper->groups.data[number];
  int32_t at = group->count++;
  for (; at > 0 && group->members[at - 1] > node; at--) {
    group->members[at] = group->members[at - 1];
    group->nests[at] = group->nests[at - 1];
  }
  group->members[at] = node;
  group->nests[at] = grouper->nodes[node].nest;
  group->instruction_count += fusion_instruction_count(grouper->nodes[node].instruction);
  grouper->groups.data[grouper->nodes[node].group].count = 0;
  grouper->nodes[node].group = number;
  observe(grouper, number, &grouper->nodes[node], true, "only what updates arrays by a contraction's sums reads it");
}

/* What a group that begins with a contraction reads element by element, and nobody else does, is not made from its sums
 * and has not joined: a share of a weight that is added to its gradient. */
static void take_in_operands(Grouper *grouper, int32_t number) {
  for (int32_t i = 0; i < grouper->groups.data[number].count; i++) {
    const HloInstruction *member = grouper->nodes[grouper->groups.data[number].members[i]].instruction;
    for (int k = 0; k < member->operand_count; k++) {
      int32_t node = node_of(grouper, member->operands[k]);
      if (node < 0 || !may_take_in(grouper, number, node)) continue;
      take_in(grouper, number, node);
      i++; /* it stands before the member at hand */
    }
  }
}

/* --- writing --- */

/* An instruction outside of the group needs it. */
static bool is_result(const Grouper *grouper, int32_t number, const HloInstruction *member) {
  if (hlo_instruction_is_root(member)) return true;
  for (int32_t u = 0; u < member->user_count; u++) {
    if (!is_member(grouper, number, member->users[u])) return true;
  }
  return false;
}

static void replace_result(HloInstruction *old, HloInstruction *fusion, int32_t index) {
  HloInstruction *element =
      hlo_computation_add(fusion->parent, HLO_GET_TUPLE_ELEMENT, old->shape, &fusion, 1, (StringView){0});
  hlo_instruction_set_int(element, HLO_ATTR_INDEX, index);
  hlo_instruction_inherit_metadata(element, old);
  hlo_instruction_replace_all_uses(old, element);
}

/* Whether it is one array: such a fusion may be a member itself. */
static bool write_group(Grouper *grouper, int32_t number) {
  const Group *group = &grouper->groups.data[number];
  HloInstruction *results[MEMBER_LIMIT], *made[MEMBER_LIMIT];
  const Shape *shapes[MEMBER_LIMIT];
  int32_t count = 0;
  bool is_reduced = false;
  FusedBody body;
  fused_body_begin(&body, grouper->computation, SV("fused_results"), grouper->observer, grouper->arena);
  for (int32_t i = 0; i < group->count; i++) {
    HloInstruction *member = grouper->nodes[group->members[i]].instruction;
    HloInstruction *inside = fused_body_add(&body, member);
    is_reduced |= group->nests[i].kind == LOOP_NEST_REDUCED;
    if (!is_result(grouper, number, member)) continue;
    results[count] = member;
    made[count] = inside;
    shapes[count++] = member->shape;
  }
  HloInstruction *root = made[0];
  if (count > 1) {
    const Shape *tuple = shape_tuple(grouper->computation->module->shapes, shapes, count);
    root = hlo_computation_add(body.fused, HLO_TUPLE, tuple, made, count, (StringView){0});
  }
  hlo_computation_set_root(body.fused, root);
  HloInstruction *fusion = fused_body_end(&body, is_reduced ? FUSION_KIND_INPUT : FUSION_KIND_LOOP,
                                          SV("results_fusion"), results[count - 1]);
  if (count == 1) hlo_instruction_replace_all_uses(results[0], fusion);
  for (int32_t i = 0; i < count && count > 1; i++) replace_result(results[i], fusion, i);
  return count == 1;
}

static void init_grouper(Grouper *grouper, HloComputation *computation) {
  Arena *arena = grouper->arena;
  int64_t count;
  HloInstruction **order = hlo_computation_post_order(computation, arena, &count);
  grouper->computation = computation;
  grouper->count = (int32_t)count;
  grouper->nodes = ARENA_NEW_ARRAY(arena, Node, count + 1);
  grouper->floors = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  grouper->stamps = ARENA_NEW_ARRAY(arena, int32_t, count + 1);
  int_map_init(&grouper->numbers, arena);
  for (int32_t n = 0; n < grouper->count; n++) {
    grouper->nodes[n] = (Node){.instruction = order[n], .group = -1};
    grouper->floors[n] = n;
    int_map_set(&grouper->numbers, (uint64_t)order[n]->id, n);
  }
}

/* Whether |node| makes elements of a concatenation of equal pieces that are computed inside it. */
static bool joins_pieces(const Node *node) {
  const HloComputation *fused = hlo_instruction_fused(node->instruction);
  if (fused == NULL || node->nest.kind != LOOP_NEST_ELEMENTS) return false;
  for (int64_t i = 0; i < fused->instructions.count; i++) {
    const HloInstruction *inside = fused->instructions.data[i];
    if (inside->opcode != HLO_CONCATENATE || !fusion_has_equal_pieces(inside)) continue;
    for (int k = 0; k < inside->operand_count; k++)
      if (inside->operands[k]->opcode != HLO_PARAMETER) return true;
  }
  return false;
}

static void group_all(Grouper *grouper) {
  for (int32_t n = 0; n < grouper->count; n++) {
    Node *node = &grouper->nodes[n];
    if (!is_candidate(grouper, node->instruction)) continue;
    const HloComputation *fused = hlo_instruction_fused(node->instruction);
    node->nest = hlo_loop_nest(fused != NULL ? fused->root : node->instruction, fused == NULL, grouper->arena);
    if (node->nest.kind == LOOP_NEST_NONE || (node->nest.kind == LOOP_NEST_SUMS && !grouper->has_buffer)) continue;
    node->reads = fusion_reads(node->instruction, grouper->arena);
    node->joins_pieces = joins_pieces(node);
    place(grouper, n);
  }
}

/* Control dependencies are paths as well: where there are any, nothing is moved together.  |out_is_done|: what was made
 * is of no use to another round. */
static bool fuse_results(HloComputation *computation, const HloPassOptions *options, bool *out_is_done) {
  Arena *arena = arena_create();
  bool changed = hlo_computation_remove_dead(computation) > 0; /* readers that nothing needs have no say */
  ControlEdges control;
  control_edges_init(&control, computation, arena);
  Grouper grouper = {.arena = arena, .observer = options->decisions};
  grouper.has_buffer = machine_has_buffer(options->machine);
  if (grouper.has_buffer) grouper.buffer_bytes = machine_buffer_usable(options->machine);
  *out_is_done = true;
  if (control.ends.count == 0) {
    init_grouper(&grouper, computation);
    group_all(&grouper);
  }
  for (int32_t g = 0; g < grouper.groups.count; g++) {
    if (grouper.groups.data[g].count < 2) continue;
    if (grouper.groups.data[g].nests[0].kind == LOOP_NEST_SUMS) take_in_operands(&grouper, g);
    if (write_group(&grouper, g)) *out_is_done = false;
    changed = true;
  }
  if (changed) hlo_computation_remove_dead(computation);
  arena_destroy(arena);
  return changed;
}

static Status run_multi_output_fusion(HloPassContext *context, HloModule *module, bool *out_changed) {
  int64_t count;
  HloComputation **computations = control_computations(module, context->scratch, &count);
  for (int64_t i = 0; i < count; i++) {
    bool is_done = false;
    for (int round = 0; round < ROUND_LIMIT && !is_done; round++) {
      *out_changed |= fuse_results(computations[i], context->options, &is_done);
    }
  }
  return STATUS_OK;
}

const HloPass hlo_multi_output_fusion_pass = {"multi-output-fusion", "make results together that read the same",
                                              run_multi_output_fusion, false};
