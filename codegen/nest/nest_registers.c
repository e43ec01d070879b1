/* Registers of vectors and masks: by colouring, phis and what comes to them in one where they may be. */
#include <string.h>

#include "codegen/nest/nest_internal.h"

enum { SET_WORDS = NEST_MOST_VALUES / 64 };

typedef struct ValueSet {
  uint64_t words[SET_WORDS];
} ValueSet;

typedef struct Colouring {
  NestFunction *nest;
  ValueSet live_in[NEST_MOST_BLOCKS];
  ValueSet apart[NEST_MOST_VALUES]; /* of the first value of a web: what interferes with one of it */
  int web[NEST_MOST_VALUES];        /* the first value of its web, or nearer to it */
  int color[NEST_MOST_VALUES];      /* of a web */
} Colouring;

static bool has(const ValueSet *set, int number) {
  return (set->words[number / 64] >> number % 64 & 1) != 0;
}
static void put(ValueSet *set, int number) {
  set->words[number / 64] |= (uint64_t)1 << number % 64;
}
static void take(ValueSet *set, int number) {
  set->words[number / 64] &= ~((uint64_t)1 << number % 64);
}

static bool in_register(const NestFunction *nest, int number) {
  const NestValue *value = &nest->values.data[number];
  bool is_held = value->op != NEST_CONSTANT && !value->is_folded;
  return is_held && (value->kind == NEST_VECTOR || value->kind == NEST_MASK);
}

int nest_spare_register(const NestFunction *nest) {
  return nest->target->has_avx512 ? 31 : 15;
}

static int web_of(Colouring *colouring, int number) {
  while (colouring->web[number] != number) number = colouring->web[number];
  return number;
}

int nest_incoming(const NestFunction *nest, const NestValue *phi, int from) {
  for (unsigned i = 0; i < LLVMCountIncoming(phi->source); i++) {
    if (nest_block_number(nest, LLVMGetIncomingBlock(phi->source, i)) != from) continue;
    int64_t number;
    if (int_map_find(&nest->numbers, (uint64_t)(uintptr_t)LLVMGetIncomingValue(phi->source, i), &number))
      return (int)number;
  }
  return -1;
}

/* What phis of the blocks after |block| take from it. */
static void add_phi_uses(const NestFunction *nest, int block, ValueSet *live) {
  const NestBlock *from = &nest->blocks[block];
  for (int s = 0; s < from->successor_count; s++) {
    const NestBlock *to = &nest->blocks[from->successors[s]];
    for (int p = to->first; p < to->last; p++) {
      const NestValue *phi = &nest->values.data[nest->order.data[p]];
      if (phi->op != NEST_PHI) continue;
      int number = nest_incoming(nest, phi, block);
      if (number >= 0 && in_register(nest, number)) put(live, number);
    }
  }
}

static ValueSet live_out(const Colouring *colouring, int block) {
  const NestFunction *nest = colouring->nest;
  ValueSet live = {{0}};
  for (int s = 0; s < nest->blocks[block].successor_count; s++) {
    const ValueSet *next = &colouring->live_in[nest->blocks[block].successors[s]];
    for (int w = 0; w < SET_WORDS; w++) live.words[w] |= next->words[w];
  }
  add_phi_uses(nest, block, &live);
  return live;
}

static void separate(Colouring *colouring, int a, int b) {
  const NestValue *values = colouring->nest->values.data;
  if (a == b || (values[a].kind == NEST_MASK) != (values[b].kind == NEST_MASK)) return;
  put(&colouring->apart[a], b);
  put(&colouring->apart[b], a);
}

static void separate_from(Colouring *colouring, int number, const ValueSet *live) {
  for (int w = 0; w < SET_WORDS; w++) {
    for (uint64_t rest = live->words[w]; rest != 0; rest &= rest - 1)
      separate(colouring, number, w * 64 + __builtin_ctzll(rest));
  }
}

/* Operands that are still read when the result is written; the last one of an FMA is what is added to. */
static int kept_operands(const NestFunction *nest, const NestValue *value) {
  if (value->op == NEST_FMA) return 2;
  bool is_early = value->op == NEST_PERMUTE || value->op == NEST_MASK_IF;
  for (int i = 0; i < value->operand_count; i++) is_early |= nest->values.data[value->operands[i]].op == NEST_CONSTANT;
  return is_early ? value->operand_count : 0;
}

/* One block backwards; interferences are noted where |notes|. */
static ValueSet walk_block(Colouring *colouring, int number, bool notes) {
  NestFunction *nest = colouring->nest;
  const NestBlock *block = &nest->blocks[number];
  ValueSet live = live_out(colouring, number);
  for (int p = block->last - 1; p >= block->first; p--) {
    int at = nest->order.data[p];
    const NestValue *value = &nest->values.data[at];
    if (in_register(nest, at)) {
      if (notes) separate_from(colouring, at, &live);
      if (value->op != NEST_PHI) take(&live, at);
    }
    for (int i = 0; i < value->operand_count; i++) {
      if (!in_register(nest, value->operands[i])) continue;
      put(&live, value->operands[i]);
      if (notes && in_register(nest, at) && i < kept_operands(nest, value)) separate(colouring, at, value->operands[i]);
    }
  }
  for (int p = block->first; p < block->last; p++) {
    int at = nest->order.data[p];
    if (nest->values.data[at].op != NEST_PHI) continue;
    if (notes) separate_from(colouring, at, &live);
    if (notes) continue;
    take(&live, at);
  }
  return live;
}

static void find_interferences(Colouring *colouring) {
  NestFunction *nest = colouring->nest;
  for (bool changes = true; changes;) {
    changes = false;
    for (int b = nest->block_count - 1; b >= 0; b--) {
      ValueSet live = walk_block(colouring, b, false);
      changes |= memcmp(&live, &colouring->live_in[b], sizeof live) != 0;
      colouring->live_in[b] = live;
    }
  }
  for (int b = 0; b < nest->block_count; b++) walk_block(colouring, b, true);
}

static void join(Colouring *colouring, int a, int b) {
  if (b < 0 || !in_register(colouring->nest, b)) return;
  a = web_of(colouring, a);
  b = web_of(colouring, b);
  if (a == b || has(&colouring->apart[a], b)) return;
  if (b < a) {
    int other = a;
    a = b;
    b = other;
  }
  colouring->web[b] = a;
  for (int w = 0; w < SET_WORDS; w++) {
    for (uint64_t rest = colouring->apart[b].words[w]; rest != 0; rest &= rest - 1) {
      int other = web_of(colouring, w * 64 + __builtin_ctzll(rest));
      put(&colouring->apart[a], other);
      put(&colouring->apart[other], a);
    }
  }
}

static void join_phis(Colouring *colouring) {
  NestFunction *nest = colouring->nest;
  for (int b = 0; b < nest->block_count; b++) {
    for (int p = nest->blocks[b].first; p < nest->blocks[b].last; p++) {
      int at = nest->order.data[p];
      const NestValue *value = &nest->values.data[at];
      if (value->op == NEST_FMA) join(colouring, at, value->operands[2]);
      if (value->op != NEST_PHI) continue;
      for (int from = 0; from < nest->block_count; from++) {
        int number = nest_incoming(nest, value, from);
        if (number >= 0) join(colouring, at, number);
      }
    }
  }
}

/* Masks that constants give are in registers from the beginning on. */
static int mask_register(NestFunction *nest, uint32_t bits) {
  for (int i = 0; i < nest->mask_count; i++) {
    if (nest->masks[i] == bits) return i + 1;
  }
  if (nest->mask_count == NEST_MASKS) return nest_refuse(nest), 1;
  nest->masks[nest->mask_count++] = bits;
  return nest->mask_count;
}

static bool give_colors(Colouring *colouring) {
  NestFunction *nest = colouring->nest;
  int count = (int)nest->values.count;
  for (int v = 0; v < count; v++) {
    if (!in_register(nest, v) || web_of(colouring, v) != v) continue;
    bool is_mask = nest->values.data[v].kind == NEST_MASK;
    uint32_t taken = is_mask ? ~0U << (NEST_MASKS + 1) | ((2U << nest->mask_count) - 1) : 0;
    int most = is_mask ? NEST_MASKS + 1 : nest_spare_register(nest);
    for (int other = 0; other < v; other++) {
      bool is_colored = in_register(nest, other) && web_of(colouring, other) == other;
      if (is_colored && has(&colouring->apart[v], other)) taken |= 1U << colouring->color[other];
    }
    int color = 0;
    while (color < most && (taken >> color & 1) != 0) color++;
    if (color >= most) return nest_refuse(nest);
    colouring->color[v] = color;
  }
  for (int v = 0; v < count; v++) {
    if (in_register(nest, v)) nest->values.data[v].reg = colouring->color[web_of(colouring, v)];
  }
  return true;
}

bool nest_give_registers(NestFunction *nest) {
  Colouring *colouring = ARENA_NEW(nest->arena, Colouring);
  colouring->nest = nest;
  for (int v = 0; v < NEST_MOST_VALUES; v++) colouring->web[v] = v;
  for (int64_t v = 0; v < nest->values.count; v++) {
    NestValue *value = &nest->values.data[v];
    if (value->mask_bits != 0 && nest->target->has_avx512) value->mask_register = mask_register(nest, value->mask_bits);
  }
  if (nest->is_refused) return false;
  find_interferences(colouring);
  join_phis(colouring);
  return give_colors(colouring);
}
