/* Instructions on vectors and masks. */
#include <string.h>

#include "base/array.h"
#include "codegen/nest/nest_internal.h"

static char width_of(int bytes) {
  return bytes <= 16 ? 'x' : bytes == 32 ? 'y' : 'z';
}

static const char *register_text(NestWriter *writer, int reg, int bytes) {
  return arena_printf(writer->nest->arena, "%%%cmm%d", width_of(bytes), reg);
}

/* ps, pd, ss, sd: of one number or of a register. */
static const char *suffix_of(const NestValue *value) {
  bool is_single = value->element == 4;
  if (value->bytes == value->element) return is_single ? "ss" : "sd";
  return is_single ? "ps" : "pd";
}

/* The place of a constant after the code, as an operand. */
static const char *pool_operand(NestWriter *writer, StringView directive) {
  int64_t number = 0;
  while (number < writer->pool.count && !sv_equal(writer->pool.data[number], directive)) number++;
  if (number == writer->pool.count) array_push(&writer->pool, writer->nest->arena, directive);
  return arena_printf(writer->nest->arena, "%lldf(%%rip)", (long long)(NEST_FIRST_CONSTANT + number));
}

static uint64_t number_bits(LLVMValueRef number, int element) {
  LLVMBool loses;
  if (LLVMIsAConstantFP(number) == NULL) return 0; /* undefined, or zero */
  double value = LLVMConstRealGetDouble(number, &loses);
  float single = (float)value;
  uint32_t single_bits;
  uint64_t bits;
  memcpy(&single_bits, &single, sizeof bits / 2);
  memcpy(&bits, &value, sizeof bits);
  return element == 4 ? single_bits : bits;
}

static const char *constant_operand(NestWriter *writer, const NestValue *value) {
  StringBuilder text;
  sb_init(&text, writer->nest->arena);
  sb_append_cstring(&text, value->element == 4 ? ".long " : ".quad ");
  int lanes = value->bytes / value->element;
  for (int i = 0; i < lanes; i++) {
    LLVMValueRef lane = lanes == 1 ? value->constant : LLVMGetAggregateElement(value->constant, (unsigned)i);
    sb_printf(&text, "%s0x%llx", i > 0 ? ", " : "", (unsigned long long)number_bits(lane, value->element));
  }
  return pool_operand(writer, sb_view(&text));
}

/* 32-bit numbers, one for each lane. */
static const char *lanes_operand(NestWriter *writer, const int64_t *lanes, int count) {
  StringBuilder text;
  sb_init(&text, writer->nest->arena);
  for (int i = 0; i < count; i++) sb_printf(&text, "%s%lld", i > 0 ? ", " : ".long ", (long long)(int32_t)lanes[i]);
  return pool_operand(writer, sb_view(&text));
}

/* All bits of the lanes of a mask, for processors without masks in registers of their own. */
static const char *mask_operand(NestWriter *writer, const NestValue *value) {
  StringBuilder text;
  sb_init(&text, writer->nest->arena);
  for (int i = 0; i < value->bytes / 4; i++)
    sb_printf(&text, "%s%d", i > 0 ? ", " : ".long ", (value->mask_bits >> i * 4 / value->element & 1) != 0 ? -1 : 0);
  return pool_operand(writer, sb_view(&text));
}

static void clear(NestWriter *writer, int reg) {
  sb_printf(writer->out, reg < 16 ? "vpxor %%xmm%d, %%xmm%d, %%xmm%d\n" : "vpxord %%xmm%d, %%xmm%d, %%xmm%d\n", reg,
            reg, reg);
}

static const char *move_of(const NestValue *value) {
  if (value->bytes == value->element) return value->element == 4 ? "vmovss" : "vmovsd";
  return value->element == 4 ? "vmovups" : "vmovupd";
}

void nest_write_move(NestWriter *writer, int target, const NestValue *source) {
  if (source->op == NEST_CONSTANT && LLVMIsNull(source->constant)) {
    clear(writer, target);
  } else if (source->op == NEST_CONSTANT) {
    sb_printf(writer->out, "%s %s, %s\n", move_of(source), constant_operand(writer, source),
              register_text(writer, target, source->bytes));
  } else if (source->reg != target && source->kind == NEST_MASK) {
    sb_printf(writer->out, "kmovw %%k%d, %%k%d\n", source->reg, target);
  } else if (source->reg != target) {
    sb_printf(writer->out, "vmovaps %s, %s\n", register_text(writer, source->reg, source->bytes),
              register_text(writer, target, source->bytes));
  }
}

/* The last operand may be in memory; of |user|. */
static const char *operand_text(NestWriter *writer, const NestValue *value, const NestValue *user) {
  if (value->op == NEST_CONSTANT) return constant_operand(writer, value);
  if (!value->is_folded) return register_text(writer, value->reg, value->bytes);
  const char *address = nest_write_address(writer, &value->form, user->position);
  if (value->op == NEST_LOAD) return address;
  return arena_printf(writer->nest->arena, "%s{1to%d}", address, value->bytes / value->element);
}

static void write_load(NestWriter *writer, const NestValue *value, const NestValue *mask) {
  StringBuilder *out = writer->out;
  int end = -1;
  if (value->condition != NULL) {
    end = nest_label(writer);
    clear(writer, value->reg);
    nest_write_unless(writer, value->condition, value->position, end);
  }
  const char *address = nest_write_address(writer, &value->form, value->position);
  const char *reg = register_text(writer, value->reg, value->bytes);
  if (value->op == NEST_BROADCAST) {
    const char *name = value->element == 4 ? "vbroadcastss" : value->bytes == 16 ? "vmovddup" : "vbroadcastsd";
    sb_printf(out, "%s %s, %s\n", name, address, reg);
  } else if (mask != NULL || value->mask_register > 0) {
    sb_printf(out, "%s %s, %s{%%k%d}{z}\n", move_of(value), address, reg,
              mask != NULL ? mask->reg : value->mask_register);
  } else if (value->mask_bits != 0) {
    sb_printf(out, "vmovups %s, %s\n", mask_operand(writer, value), reg);
    sb_printf(out, "vmaskmov%s %s, %s, %s\n", suffix_of(value), address, reg, reg);
  } else {
    sb_printf(out, "%s %s, %s\n", move_of(value), address, reg);
  }
  if (end >= 0) sb_printf(out, "%d:\n", end);
}

/* The register of an operand; a constant's is |spare|. */
static int operand_register(NestWriter *writer, const NestValue *value, int spare) {
  if (value->op != NEST_CONSTANT) return value->reg;
  nest_write_move(writer, spare, value);
  return spare;
}

static void write_store(NestWriter *writer, const NestValue *value, const NestValue *what) {
  StringBuilder *out = writer->out;
  int spare = nest_spare_register(writer->nest);
  bool has_mask_vector = value->mask_bits != 0 && value->mask_register == 0;
  int reg = operand_register(writer, what, spare);
  if (has_mask_vector && reg == spare) {
    nest_refuse(writer->nest);
    return;
  }
  const char *address = nest_write_address(writer, &value->form, value->position);
  const char *text = register_text(writer, reg, value->bytes);
  if (has_mask_vector) {
    const char *mask = register_text(writer, spare, value->bytes);
    sb_printf(out, "vmovups %s, %s\n", mask_operand(writer, value), mask);
    sb_printf(out, "vmaskmov%s %s, %s, %s\n", suffix_of(value), text, mask, address);
  } else if (value->mask_register > 0) {
    sb_printf(out, "%s %s, %s{%%k%d}\n", move_of(value), text, address, value->mask_register);
  } else {
    sb_printf(out, "%s %s, %s\n", move_of(value), text, address);
  }
}

static void write_prefetch(NestWriter *writer, const NestValue *value) {
  static const char *const names[] = {"nta", "t2", "t1", "t0"}; /* by locality */
  sb_printf(writer->out, "prefetch%s %s\n", names[value->predicate],
            nest_write_address(writer, &value->form, value->position));
}

/* An address with the spare register's lanes as its index. */
static const char *lanes_address(NestWriter *writer, const NestValue *value) {
  int spare = nest_spare_register(writer->nest);
  sb_printf(writer->out, "vmovups %s, %s\n", lanes_operand(writer, value->offsets, value->bytes / 4),
            register_text(writer, spare, value->bytes));
  const char *address = nest_write_address(writer, &value->form, value->position);
  size_t size = strlen(address);
  return arena_printf(writer->nest->arena, "%.*s, %s)", (int)size - 1, address,
                      register_text(writer, spare, value->bytes));
}

static void write_spare_mask(NestWriter *writer, int mask) {
  if (mask > 0)
    sb_printf(writer->out, "kmovw %%k%d, %%k7\n", mask);
  else
    sb_append_cstring(writer->out, "kxnorw %k7, %k7, %k7\n");
}

static void write_gather(NestWriter *writer, const NestValue *value, const NestValue *mask) {
  const char *address = lanes_address(writer, value);
  write_spare_mask(writer, mask != NULL ? mask->reg : value->mask_register);
  clear(writer, value->reg);
  sb_printf(writer->out, "vgatherdps %s, %s{%%k7}\n", address, register_text(writer, value->reg, value->bytes));
}

static void write_scatter(NestWriter *writer, const NestValue *value, const NestValue *what) {
  if (what->op == NEST_CONSTANT) {
    nest_refuse(writer->nest);
    return;
  }
  const char *address = lanes_address(writer, value);
  write_spare_mask(writer, value->mask_register);
  sb_printf(writer->out, "vscatterdps %s, %s{%%k7}\n", register_text(writer, what->reg, value->bytes), address);
}

static void write_binary(NestWriter *writer, const NestValue *value, const NestValue *a, const NestValue *b) {
  bool commutes = strcmp(value->name, "add") == 0 || strcmp(value->name, "mul") == 0;
  if (a->op == NEST_CONSTANT && b->op != NEST_CONSTANT && !b->is_folded && commutes) {
    const NestValue *other = a;
    a = b;
    b = other;
  }
  int first = operand_register(writer, a, value->reg);
  const char *last = operand_text(writer, b, value);
  sb_printf(writer->out, "v%s%s ", value->name, suffix_of(value));
  if (strcmp(value->name, "range") == 0) sb_printf(writer->out, "$$%d, ", value->predicate);
  sb_printf(writer->out, "%s, %s, %s\n", last, register_text(writer, first, value->bytes),
            register_text(writer, value->reg, value->bytes));
}

static void write_fma(NestWriter *writer, const NestValue *value, const NestValue *const *operands) {
  const NestValue *a = operands[0], *b = operands[1];
  if (a->op == NEST_CONSTANT && !b->is_folded) {
    a = operands[1];
    b = operands[0];
  }
  nest_write_move(writer, value->reg, operands[2]);
  int first = operand_register(writer, a, nest_spare_register(writer->nest));
  sb_printf(writer->out, "vfmadd231%s %s, %s, %s\n", suffix_of(value), operand_text(writer, b, value),
            register_text(writer, first, value->bytes), register_text(writer, value->reg, value->bytes));
}

static void write_spread(NestWriter *writer, const NestValue *value, const NestValue *one) {
  const char *reg = register_text(writer, value->reg, value->bytes);
  const char *name = value->element == 4 ? "vbroadcastss" : value->bytes == 16 ? "vmovddup" : "vbroadcastsd";
  sb_printf(writer->out, "%s %s, %s\n", name, operand_text(writer, one, value), reg);
}

static void write_permute(NestWriter *writer, const NestValue *value, const NestValue *const *operands) {
  StringBuilder *out = writer->out;
  const char *reg = register_text(writer, value->reg, value->bytes);
  sb_printf(out, "vmovups %s, %s\n", lanes_operand(writer, value->offsets, value->bytes / 4), reg);
  if (value->operand_count == 2)
    sb_printf(
        out, "vpermi2ps %s, %s, %s\n", operand_text(writer, operands[1], value),
        register_text(writer, operand_register(writer, operands[0], nest_spare_register(writer->nest)), value->bytes),
        reg);
  else if (value->bytes == 16)
    sb_printf(out, "vpermilps %s, %s, %s\n", reg,
              register_text(writer, operand_register(writer, operands[0], nest_spare_register(writer->nest)), 16), reg);
  else
    sb_printf(out, "vpermps %s, %s, %s\n", operand_text(writer, operands[0], value), reg, reg);
}

static void write_compare(NestWriter *writer, const NestValue *value, const NestValue *a, const NestValue *b) {
  int first = operand_register(writer, a, nest_spare_register(writer->nest));
  sb_printf(writer->out, "vcmp%s $$%d, %s, %s, %%k%d\n", suffix_of(value), value->predicate,
            operand_text(writer, b, value), register_text(writer, first, value->bytes), value->reg);
}

static void write_below(NestWriter *writer, const NestValue *value) {
  const char *spare = register_text(writer, nest_spare_register(writer->nest), value->bytes);
  int64_t bounds[NEST_MOST_LANES];
  for (int i = 0; i < value->bytes / 4; i++) bounds[i] = value->divisor;
  nest_write_integer(writer, &value->form, value->position);
  sb_printf(writer->out, "vpbroadcastd %%eax, %s\n", spare);
  sb_printf(writer->out, "vpaddd %s, %s, %s\n", lanes_operand(writer, value->offsets, value->bytes / 4), spare, spare);
  sb_printf(writer->out, "vpcmpud $$1, %s, %s, %%k%d\n", lanes_operand(writer, bounds, value->bytes / 4), spare,
            value->reg);
}

/* All leaves say that a number is below another one, which cmp leaves in the carry. */
static bool sets_carry(const NestCondition *condition) {
  for (int i = 0; i < condition->count; i++) {
    if (condition->leaves[i].predicate != LLVMIntULT) return false;
  }
  return true;
}

static void write_mask_if(NestWriter *writer, const NestValue *value, const NestValue *mask) {
  const NestCondition *condition = value->condition;
  if (sets_carry(condition)) {
    sb_printf(writer->out, "kmovw %%k%d, %%k%d\n", mask->reg, value->reg);
    for (int i = 0; i < condition->count; i++) {
      nest_write_comparison(writer, &condition->leaves[i], value->position);
      sb_printf(writer->out, "sbbl %%eax, %%eax\nkmovw %%eax, %%k7\nkandw %%k7, %%k%d, %%k%d\n", value->reg,
                value->reg);
    }
    return;
  }
  int end = nest_label(writer), reg = value->reg;
  sb_printf(writer->out, "kxorw %%k%d, %%k%d, %%k%d\n", reg, reg, reg);
  nest_write_unless(writer, value->condition, value->position, end);
  sb_printf(writer->out, "kmovw %%k%d, %%k%d\n%d:\n", mask->reg, reg, end);
}

/* vblendmps takes the last operand but one where the mask is not set. */
static void write_choose(NestWriter *writer, const NestValue *value, const NestValue *const *operands) {
  int otherwise = operand_register(writer, operands[2], nest_spare_register(writer->nest));
  sb_printf(writer->out, "vblendm%s %s, %s, %s{%%k%d}\n", suffix_of(value), operand_text(writer, operands[1], value),
            register_text(writer, otherwise, value->bytes), register_text(writer, value->reg, value->bytes),
            operands[0]->reg);
}

void nest_write_vector(NestWriter *writer, const NestValue *value) {
  const NestValue *operands[3] = {NULL};
  if (value->is_folded) return;
  for (int i = 0; i < value->operand_count; i++) operands[i] = &writer->nest->values.data[value->operands[i]];
  switch (value->op) {
    case NEST_LOAD:
    case NEST_BROADCAST: write_load(writer, value, operands[0]); break;
    case NEST_STORE: write_store(writer, value, operands[0]); break;
    case NEST_PREFETCH: write_prefetch(writer, value); break;
    case NEST_GATHER: write_gather(writer, value, operands[0]); break;
    case NEST_SCATTER: write_scatter(writer, value, operands[0]); break;
    case NEST_BINARY: write_binary(writer, value, operands[0], operands[1]); break;
    case NEST_FMA: write_fma(writer, value, operands); break;
    case NEST_SPREAD: write_spread(writer, value, operands[0]); break;
    case NEST_PERMUTE: write_permute(writer, value, operands); break;
    case NEST_COMPARE: write_compare(writer, value, operands[0], operands[1]); break;
    case NEST_BELOW: write_below(writer, value); break;
    case NEST_MASK_IF: write_mask_if(writer, value, operands[0]); break;
    case NEST_CHOOSE: write_choose(writer, value, operands); break;
    default: break;
  }
}
