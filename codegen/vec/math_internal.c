#include "codegen/vec/math_internal.h"

Math math_of(const VecBuilder *vec, PrimitiveType type, int lanes) {
  bool is_double = type == TYPE_F64;
  return (Math){vec,       vec->builder, is_double ? TYPE_F64 : TYPE_F32,
                is_double, lanes,        is_double ? MATH_DOUBLE : MATH_SINGLE};
}

Math math_double(const Math *m) {
  Math d = math_of(m->vec, TYPE_F64, m->lanes);
  d.precision = m->precision == MATH_DOUBLE ? MATH_DOUBLE : MATH_MIDDLE;
  return d;
}

LLVMValueRef m_const(const Math *m, double value) {
  return vec_constant_double(m->vec, m->type, value, m->lanes);
}

LLVMValueRef m_nan(const Math *m) {
  return m_const(m, __builtin_nan(""));
}

LLVMValueRef m_infinity(const Math *m) {
  return m_const(m, __builtin_inf());
}

LLVMValueRef m_add(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFAdd(m->b, a, b, "");
}

LLVMValueRef m_sub(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFSub(m->b, a, b, "");
}

LLVMValueRef m_mul(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFMul(m->b, a, b, "");
}

LLVMValueRef m_div(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFDiv(m->b, a, b, "");
}

LLVMValueRef m_fma(const Math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return vec_multiply_add(m->vec, m->type, a, b, c);
}

LLVMValueRef m_scale(const Math *m, LLVMValueRef a, double factor) {
  return m_mul(m, a, m_const(m, factor));
}

static LLVMValueRef unary(const Math *m, const char *name, LLVMValueRef a) {
  LLVMTypeRef type = LLVMTypeOf(a);
  return vec_intrinsic(m->vec, name, &type, 1, &a, 1);
}

LLVMValueRef m_abs(const Math *m, LLVMValueRef a) {
  return unary(m, "llvm.fabs", a);
}

LLVMValueRef m_neg(const Math *m, LLVMValueRef a) {
  return LLVMBuildFNeg(m->b, a, "");
}

LLVMValueRef m_sqrt(const Math *m, LLVMValueRef a) {
  return unary(m, "llvm.sqrt", a);
}

LLVMValueRef m_rint(const Math *m, LLVMValueRef a) {
  return vec_float_rint(m->vec, m->type, a, m->lanes);
}

LLVMValueRef m_copysign(const Math *m, LLVMValueRef size, LLVMValueRef sign) {
  LLVMTypeRef type = LLVMTypeOf(size);
  LLVMValueRef arguments[] = {size, sign};
  return vec_intrinsic(m->vec, "llvm.copysign", &type, 1, arguments, 2);
}

LLVMValueRef m_select(const Math *m, LLVMValueRef condition, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(m->b, condition, a, b, "");
}

LLVMValueRef m_and(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildAnd(m->b, a, b, "");
}

LLVMValueRef m_or(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildOr(m->b, a, b, "");
}

LLVMValueRef m_not(const Math *m, LLVMValueRef a) {
  return LLVMBuildNot(m->b, a, "");
}

LLVMValueRef m_compare(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildFCmp(m->b, predicate, a, b, "");
}

LLVMValueRef m_compare_to(const Math *m, LLVMRealPredicate predicate, LLVMValueRef a, double b) {
  return LLVMBuildFCmp(m->b, predicate, a, m_const(m, b), "");
}

LLVMValueRef m_sign_bit(const Math *m, LLVMValueRef a) {
  return LLVMBuildICmp(m->b, LLVMIntSLT, m_bits(m, a), m_int(m, 0), "");
}

LLVMValueRef m_at_most(const Math *m, LLVMValueRef a, double upper) {
  return m_select(m, m_compare_to(m, LLVMRealOGT, a, upper), m_const(m, upper), a);
}

LLVMValueRef m_at_least(const Math *m, LLVMValueRef a, double lower) {
  return m_select(m, m_compare_to(m, LLVMRealOLT, a, lower), m_const(m, lower), a);
}

LLVMValueRef m_clamp(const Math *m, LLVMValueRef a, double lower, double upper) {
  return m_at_most(m, m_at_least(m, a, lower), upper);
}

LLVMValueRef m_bits(const Math *m, LLVMValueRef a) {
  return LLVMBuildBitCast(m->b, a, vec_type(m->vec, m->is_double ? TYPE_S64 : TYPE_S32, m->lanes), "");
}

LLVMValueRef m_from_bits(const Math *m, LLVMValueRef bits) {
  return LLVMBuildBitCast(m->b, bits, vec_type(m->vec, m->type, m->lanes), "");
}

LLVMValueRef m_int(const Math *m, int64_t value) {
  return vec_int(m->vec, m->is_double ? 64 : 32, value, m->lanes);
}

static LLVMValueRef horner(const Math *m, LLVMValueRef x, const MathFit *fit) {
  LLVMValueRef sum = m_const(m, fit->terms[0]);
  for (int i = 1; i < fit->count; i++) sum = m_fma(m, sum, x, m_const(m, fit->terms[i]));
  return sum;
}

/* Neighbours joined by x, then by x², x⁴ … (Estrin's scheme): a few more products, but a chain of log n instead of n.
 */
static LLVMValueRef estrin(const Math *m, LLVMValueRef x, const MathFit *fit) {
  LLVMValueRef parts[MATH_FIT_MAX_TERMS];
  int count = fit->count;
  for (int i = 0; i < count; i++) parts[i] = m_const(m, fit->terms[count - 1 - i]);
  while (count > 1) {
    for (int i = 0; i + 1 < count; i += 2) parts[i / 2] = m_fma(m, parts[i + 1], x, parts[i]);
    if (count % 2 == 1) parts[count / 2] = parts[count - 1];
    count = (count + 1) / 2;
    if (count > 1) x = m_mul(m, x, x);
  }
  return parts[0];
}

/* Terms of even and of odd powers by themselves, both in x²: half as long a chain for one more product. */
static LLVMValueRef even_and_odd(const Math *m, LLVMValueRef x, const MathFit *fit) {
  LLVMValueRef square = m_mul(m, x, x), sums[2];
  for (int parity = 0; parity < 2; parity++) {
    int first = (fit->count - 1 - parity) % 2; /* from the highest power of that parity down */
    sums[parity] = m_const(m, fit->terms[first]);
    for (int i = first + 2; i < fit->count; i += 2)
      sums[parity] = m_fma(m, sums[parity], square, m_const(m, fit->terms[i]));
  }
  return m_fma(m, sums[1], x, sums[0]);
}

enum { SHORT_TERMS = 6, SHORT_DOUBLE_TERMS = 4 };

/* Long ones need not be rounded as seldom: they are small parts of what they are added to. */
LLVMValueRef m_polynomial(const Math *m, LLVMValueRef x, const MathFit *fit) {
  bool is_double = m->precision == MATH_DOUBLE;
  if (fit->count <= (is_double ? SHORT_DOUBLE_TERMS : SHORT_TERMS)) return horner(m, x, fit);
  return is_double ? even_and_odd(m, x, fit) : estrin(m, x, fit);
}

LLVMValueRef m_in_double(const Math *m, LLVMValueRef a) {
  return m->is_double ? a : LLVMBuildFPExt(m->b, a, vec_type(m->vec, TYPE_F64, m->lanes), "");
}

LLVMValueRef m_from_double(const Math *m, LLVMValueRef a) {
  return m->is_double ? a : LLVMBuildFPTrunc(m->b, a, vec_type(m->vec, TYPE_F32, m->lanes), "");
}

/* --- whole numbers and powers of two --- */

static double magic(const Math *m) {
  return m->is_double ? 0x1.8p52 : 0x1.8p23;
}

static MathWhole whole_of_sum(const Math *m, LLVMValueRef sum, double anchor) {
  return (MathWhole){sum, m_sub(m, sum, m_const(m, anchor))};
}

static MathWhole whole_product(const Math *m, LLVMValueRef a, double b, double anchor) {
  return whole_of_sum(m, m_fma(m, a, m_const(m, b), m_const(m, anchor)), anchor);
}

MathWhole m_whole(const Math *m, LLVMValueRef a) {
  return whole_of_sum(m, m_add(m, a, m_const(m, magic(m))), magic(m));
}

MathWhole m_whole_product(const Math *m, LLVMValueRef a, double b) {
  return whole_product(m, a, b, magic(m));
}

/* The low bits of the sum are n in two's complement: shifted into the exponent, they add to that of 1. */
LLVMValueRef m_power_of_two(const Math *m, const MathWhole *n) {
  LLVMValueRef shifted = LLVMBuildShl(m->b, m_bits(m, n->sum), m_int(m, m->is_double ? 52 : 23), "");
  int64_t one = m->is_double ? INT64_C(0x3ff0000000000000) : 0x3f800000;
  return m_from_bits(m, LLVMBuildAdd(m->b, shifted, m_int(m, one), ""));
}

/* An instruction of AVX-512 on whole registers, of which it has forms by type and width; NULL where there is none. */
typedef struct RegisterInstruction {
  const char *names[2][3]; /* of f32 and f64, of 128, 256 and 512 bits */
  bool has_selector;
  int selector; /* an operand that says what to do */
} RegisterInstruction;

static LLVMValueRef by_instruction(const Math *m, const RegisterInstruction *instruction, LLVMValueRef a,
                                   LLVMValueRef b) {
  int bits = m->lanes * (m->is_double ? 64 : 32), count = 0;
  if (!m->vec->target->has_avx512 || bits < 128) return NULL;
  if (bits > 512) {
    Math part = *m;
    int half = part.lanes = m->lanes / 2;
    LLVMValueRef low = by_instruction(&part, instruction, vec_slice(m->vec, a, 0, half), vec_slice(m->vec, b, 0, half));
    LLVMValueRef high =
        by_instruction(&part, instruction, vec_slice(m->vec, a, half, half), vec_slice(m->vec, b, half, half));
    return vec_join(m->vec, low, high, half);
  }
  LLVMTypeRef mask_type = LLVMIntTypeInContext(m->vec->context, m->lanes == 16 ? 16 : 8);
  LLVMTypeRef s32 = LLVMInt32TypeInContext(m->vec->context);
  LLVMValueRef arguments[6] = {a, b};
  count = 2;
  if (instruction->has_selector) arguments[count++] = LLVMConstInt(s32, (unsigned)instruction->selector, false);
  arguments[count++] = LLVMConstNull(LLVMTypeOf(a));
  arguments[count++] = LLVMConstAllOnes(mask_type);
  if (bits == 512) arguments[count++] = LLVMConstInt(s32, 4, false); /* rounds as usual */
  const char *name = instruction->names[m->is_double][bits == 128 ? 0 : bits == 256 ? 1 : 2];
  return vec_intrinsic(m->vec, name, NULL, 0, arguments, count);
}

/* Of any number of lanes. */
static LLVMValueRef by_padded_instruction(const Math *m, const RegisterInstruction *instruction, LLVMValueRef a,
                                          LLVMValueRef b) {
  Math whole = *m;
  int least = m->is_double ? 2 : 4;
  if (m->lanes >= least) return by_instruction(m, instruction, a, b);
  whole.lanes = least;
  LLVMValueRef found =
      by_instruction(&whole, instruction, vec_pad(m->vec, a, m->lanes, least), vec_pad(m->vec, b, m->lanes, least));
  return vec_slice(m->vec, found, 0, m->lanes);
}

/* Scales by a float exponent, rounded down. */
static const RegisterInstruction scaling = {
    .names = {{"llvm.x86.avx512.mask.scalef.ps.128", "llvm.x86.avx512.mask.scalef.ps.256",
               "llvm.x86.avx512.mask.scalef.ps.512"},
              {"llvm.x86.avx512.mask.scalef.pd.128", "llvm.x86.avx512.mask.scalef.pd.256",
               "llvm.x86.avx512.mask.scalef.pd.512"}}};

/* The operand of less size, with the sign of the first. */
static const RegisterInstruction smaller_size = {
    .names = {{"llvm.x86.avx512.mask.range.ps.128", "llvm.x86.avx512.mask.range.ps.256",
               "llvm.x86.avx512.mask.range.ps.512"},
              {"llvm.x86.avx512.mask.range.pd.128", "llvm.x86.avx512.mask.range.pd.256",
               "llvm.x86.avx512.mask.range.pd.512"}},
    .has_selector = true,
    .selector = 2};

/* Two factors of about 2^(n/2) elsewhere: the first product is exact. */
LLVMValueRef m_scale_by_power(const Math *m, LLVMValueRef value, const MathWhole *n) {
  LLVMValueRef scaled = by_instruction(m, &scaling, value, n->value);
  if (scaled != NULL) return scaled;
  MathWhole half = m_whole_product(m, n->value, 0.5);
  MathWhole rest;
  rest.value = m_sub(m, n->value, half.value);
  rest.sum = m_add(m, rest.value, m_const(m, magic(m)));
  value = m_mul(m, value, m_power_of_two(m, &half));
  return m_mul(m, value, m_power_of_two(m, &rest));
}

/* --- tables --- */

bool m_has_tables(const Math *m) {
  return m->vec->target->has_avx512;
}

/* Lanes of a register. */
static int table_lanes(const Math *m) {
  return m->is_double ? MATH_TABLE_SIZE / 2 : MATH_TABLE_SIZE;
}

/* A register with the first of |values|. */
static LLVMValueRef table_register(const Math *m, const double *values) {
  LLVMValueRef lanes[MATH_TABLE_SIZE];
  int count = table_lanes(m);
  for (int i = 0; i < count; i++) lanes[i] = vec_constant_double(m->vec, m->type, values[i], 1);
  return LLVMConstVector(lanes, (unsigned)count);
}

/* A register holds sixteen values of f32 or eight of f64, two hold twice as many: lanes are permuted in one
 * instruction. */
static LLVMValueRef look_up(const Math *m, LLVMValueRef index, const double *values, bool has_two) {
  const VecBuilder *vec = m->vec;
  int full = table_lanes(m);
  if (m->lanes > full) {
    Math half = *m;
    half.lanes = m->lanes / 2;
    LLVMValueRef low = look_up(&half, vec_slice(vec, index, 0, half.lanes), values, has_two);
    LLVMValueRef high = look_up(&half, vec_slice(vec, index, half.lanes, half.lanes), values, has_two);
    return vec_join(vec, low, high, half.lanes);
  }
  bool is_whole = m->lanes == full;
  LLVMValueRef wide = is_whole ? index : vec_pad(vec, index, m->lanes, full), found;
  LLVMValueRef first = table_register(m, values);
  if (has_two) {
    const char *name = m->is_double ? "llvm.x86.avx512.vpermi2var.pd.512" : "llvm.x86.avx512.vpermi2var.ps.512";
    LLVMValueRef arguments[] = {first, wide, table_register(m, values + full)};
    found = vec_intrinsic(vec, name, NULL, 0, arguments, 3);
  } else {
    LLVMValueRef arguments[] = {first, wide};
    found = vec_intrinsic(vec, "llvm.x86.avx512.permvar.sf.512", NULL, 0, arguments, 2);
  }
  return is_whole ? found : vec_slice(vec, found, 0, m->lanes);
}

LLVMValueRef m_lookup(const Math *m, LLVMValueRef index, const MathTable *table) {
  return look_up(m, index, table->values, m->is_double);
}

LLVMValueRef m_lookup_long(const Math *m, LLVMValueRef index, const MathLongTable *table) {
  XLAC_CHECK(!m->is_double);
  return look_up(m, index, table->values, true);
}

MathPlace m_place(const Math *m, LLVMValueRef x, double step) {
  LLVMValueRef size = m_at_most(m, m_abs(m, x), (MATH_TABLE_SIZE - 0.51) * step);
  MathWhole n = m_whole_product(m, size, 1 / step);
  return (MathPlace){size, m_bits(m, n.sum), m_fma(m, n.value, m_const(m, -step), size)};
}

MathPlace m_place_by_halves(const Math *m, LLVMValueRef x) {
  LLVMValueRef size = m_at_most(m, m_abs(m, x), (MATH_LONG_TABLE_SIZE - 0.51) / 2), anchor = m_const(m, magic(m) / 2);
  LLVMValueRef sum = m_add(m, size, anchor);
  return (MathPlace){size, m_bits(m, sum), m_sub(m, size, m_sub(m, sum, anchor))};
}

LLVMValueRef m_pieces(const Math *m, const MathPlace *place, const MathPieces *pieces) {
  LLVMValueRef sum = m_lookup(m, place->index, &pieces->terms[0]);
  for (int i = 1; i < pieces->count; i++) {
    sum = m_fma(m, sum, place->rest, m_lookup(m, place->index, &pieces->terms[i]));
  }
  return sum;
}

MathWhole m_sixteenths_product(const Math *m, LLVMValueRef a, double b) {
  return whole_product(m, a, b, magic(m) / MATH_TABLE_SIZE);
}

LLVMValueRef m_scale_by_floor(const Math *m, LLVMValueRef value, LLVMValueRef n) {
  return by_padded_instruction(m, &scaling, value, n);
}

LLVMValueRef m_within(const Math *m, LLVMValueRef a, double bound) {
  return by_padded_instruction(m, &smaller_size, a, m_const(m, bound));
}

/* --- pairs --- */

MathPair pair_sum(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = m_add(m, a, b), virtual_b = m_sub(m, sum, a), virtual_a = m_sub(m, sum, virtual_b);
  return (MathPair){sum, m_add(m, m_sub(m, a, virtual_a), m_sub(m, b, virtual_b))};
}

MathPair pair_ordered_sum(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef sum = m_add(m, a, b);
  return (MathPair){sum, m_sub(m, b, m_sub(m, sum, a))};
}

/* The upper half of the significand; the lower bits are what remains. */
static MathPair halves(const Math *m, LLVMValueRef a) {
  int64_t mask = m->is_double ? ~INT64_C(0x7ffffff) : ~INT64_C(0xfff);
  LLVMValueRef high = m_from_bits(m, LLVMBuildAnd(m->b, m_bits(m, a), m_int(m, mask), ""));
  return (MathPair){high, m_sub(m, a, high)};
}

MathPair pair_product(const Math *m, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef product = m_mul(m, a, b);
  if (m->vec->target->has_fma) return (MathPair){product, m_fma(m, a, b, m_neg(m, product))};
  MathPair x = halves(m, a), y = halves(m, b);
  LLVMValueRef error = m_sub(m, m_mul(m, x.high, y.high), product);
  error = m_add(m, error, m_add(m, m_mul(m, x.high, y.low), m_mul(m, x.low, y.high)));
  return (MathPair){product, m_add(m, error, m_mul(m, x.low, y.low))};
}

MathPair pair_add(const Math *m, MathPair a, MathPair b) {
  MathPair sum = pair_sum(m, a.high, b.high);
  return pair_ordered_sum(m, sum.high, m_add(m, sum.low, m_add(m, a.low, b.low)));
}

MathPair pair_multiply(const Math *m, MathPair a, MathPair b) {
  MathPair product = pair_product(m, a.high, b.high);
  LLVMValueRef cross = m_fma(m, a.high, b.low, m_mul(m, a.low, b.high));
  return pair_ordered_sum(m, product.high, m_add(m, product.low, cross));
}

/* --- control flow --- */

static LLVMBasicBlockRef new_block(const Math *m) {
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInsertBlock(m->b));
  return LLVMAppendBasicBlockInContext(m->vec->context, function, "");
}

/* A branch that is hardly ever taken: what it needs is not kept in registers for it. */
static void mark_rare(const Math *m, LLVMValueRef branch) {
  LLVMContextRef context = m->vec->context;
  LLVMTypeRef type = LLVMInt32TypeInContext(context);
  LLVMMetadataRef operands[] = {LLVMMDStringInContext2(context, "branch_weights", 14),
                                LLVMValueAsMetadata(LLVMConstInt(type, 1, false)),
                                LLVMValueAsMetadata(LLVMConstInt(type, 1 << 20, false))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(context, operands, 3);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(context, "prof", 4), LLVMMetadataAsValue(context, node));
}

MathBranch math_if(const Math *m, LLVMValueRef condition) {
  MathBranch branch = {LLVMGetInsertBlock(m->b), new_block(m)};
  LLVMBasicBlockRef inside = branch.after;
  branch.after = new_block(m);
  mark_rare(m, LLVMBuildCondBr(m->b, condition, inside, branch.after));
  LLVMPositionBuilderAtEnd(m->b, inside);
  return branch;
}

MathBranch math_if_any(const Math *m, LLVMValueRef condition) {
  return math_if(m, vec_any(m->vec, condition, m->lanes));
}

void math_end_if(const Math *m, const MathBranch *branch, const LLVMValueRef *outside, const LLVMValueRef *inside,
                 int count, LLVMValueRef *out_values) {
  LLVMBasicBlockRef from[2] = {branch->before, LLVMGetInsertBlock(m->b)};
  LLVMBuildBr(m->b, branch->after);
  LLVMPositionBuilderAtEnd(m->b, branch->after);
  for (int i = 0; i < count; i++) {
    LLVMValueRef values[2] = {outside[i], inside[i]};
    LLVMValueRef phi = LLVMBuildPhi(m->b, LLVMTypeOf(outside[i]), "");
    LLVMAddIncoming(phi, values, from, 2);
    out_values[i] = phi;
  }
}
