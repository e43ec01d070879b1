#include "compiler/compiled_program.h"

#include <string.h>

#include "hlo/ir/custom_call.h"

/* Another version is another form. */
static const char magic[16] = "xlac program 3";

void compiled_program_of(const Compilation *compilation, StringView map, CompiledProgram *out_program) {
  const CompilationOptions *options = &compilation->options;
  LlvmOptions llvm = {.mcpu = options->mcpu, .mattr = options->mattr, .machine = options->machine};
  StringBuilder target;
  sb_init(&target, compilation->arena);
  llvm_describe_target(&llvm, &target);
  *out_program = (CompiledProgram){.object = compilation->object,
                                   .target = sb_view(&target),
                                   .is_native = llvm_is_native(&llvm),
                                   .lower_bound_bytes = compilation->assignment->lower_bound_bytes,
                                   .map = map};
}

/* --- the form: numbers of 8 bytes, and blocks: their size as a number, from the next multiple of 16 their bytes, and
 * at least one zero after them --- */

enum { BLOCK_ALIGNMENT = 16 };

static size_t gap_after(size_t size) {
  return (BLOCK_ALIGNMENT - size % BLOCK_ALIGNMENT) % BLOCK_ALIGNMENT;
}

static void put_int(StringBuilder *out, int64_t value) {
  sb_append(out, (StringView){(const char *)&value, sizeof value});
}

static void put_block(StringBuilder *out, const void *data, size_t size) {
  put_int(out, (int64_t)size);
  sb_append_repeated(out, '\0', (int64_t)gap_after(out->size));
  if (size > 0) sb_append(out, (StringView){data, size});
  sb_append_repeated(out, '\0', 1 + (int64_t)gap_after(out->size + 1));
}

static void put_text(StringBuilder *out, StringView text) {
  put_block(out, text.data, text.size);
}

/* Where the reader stands; |failed|: what was wanted is not there, and what is read since then is zero. */
typedef struct ProgramReader {
  StringView bytes;
  size_t at;
  bool failed;
} ProgramReader;

static const void *take(ProgramReader *reader, size_t size) {
  if (reader->failed || size > reader->bytes.size - reader->at) {
    reader->failed = true;
    return NULL;
  }
  reader->at += size;
  return reader->bytes.data + reader->at - size;
}

static int64_t take_int(ProgramReader *reader) {
  const void *data = take(reader, sizeof(int64_t));
  int64_t value = 0;
  if (data != NULL) memcpy(&value, data, sizeof value);
  return value;
}

static bool check(ProgramReader *reader, bool condition) {
  reader->failed |= !condition;
  return !reader->failed;
}

/* Each item of a list takes at least 8 bytes. */
static int64_t take_count(ProgramReader *reader) {
  int64_t count = take_int(reader);
  bool fits = count >= 0 && (uint64_t)count <= (reader->bytes.size - reader->at) / sizeof(int64_t);
  return check(reader, fits) ? count : 0;
}

static StringView take_text(ProgramReader *reader) {
  int64_t size = take_int(reader);
  take(reader, gap_after(reader->at));
  if (!check(reader, size >= 0)) return SV("");
  const char *data = take(reader, (size_t)size);
  const char *gap = take(reader, 1);
  take(reader, gap_after(reader->at));
  return check(reader, gap != NULL && *gap == '\0') ? (StringView){data, (size_t)size} : SV("");
}

static const int64_t *take_ints(ProgramReader *reader, int64_t count) {
  StringView block = take_text(reader);
  return check(reader, (int64_t)(block.size / sizeof(int64_t)) == count && block.size % sizeof(int64_t) == 0)
             ? (const void *)block.data
             : NULL;
}

/* --- the signature --- */

static void put_tensors(StringBuilder *out, const XlacTensor *tensors, int64_t count) {
  put_int(out, count);
  for (int64_t i = 0; i < count; i++) {
    const XlacTensor *tensor = &tensors[i];
    put_text(out, sv_from_cstring(tensor->name));
    put_int(out, tensor->type);
    put_int(out, tensor->rank);
    put_int(out, tensor->bytes);
    put_int(out, tensor->alignment);
    put_int(out, tensor->alias);
    put_block(out, tensor->dims, (size_t)tensor->rank * sizeof(int64_t));
    put_block(out, tensor->minor_to_major, (size_t)tensor->rank * sizeof(int64_t));
  }
}

static XlacTensor take_tensor(ProgramReader *reader) {
  XlacTensor tensor = {.name = take_text(reader).data};
  int64_t type = take_int(reader), rank = take_int(reader);
  tensor.type = (int32_t)type, tensor.rank = (int32_t)rank;
  tensor.bytes = take_int(reader);
  tensor.alignment = take_int(reader);
  tensor.alias = take_int(reader);
  tensor.dims = take_ints(reader, rank);
  tensor.minor_to_major = take_ints(reader, rank);
  bool is_good =
      type >= 0 && type <= XLAC_C128 && rank >= 0 && rank <= INT32_MAX && tensor.bytes >= 0 && tensor.alignment > 0;
  if (!check(reader, is_good)) return (XlacTensor){.alignment = 1, .name = ""};
  for (int64_t d = 0; d < rank; d++)
    check(reader, tensor.dims[d] >= 0 && tensor.minor_to_major[d] >= 0 && tensor.minor_to_major[d] < rank);
  return tensor;
}

static const XlacTensor *take_tensors(ProgramReader *reader, Arena *arena, int64_t *out_count) {
  *out_count = take_count(reader);
  XlacTensor *tensors = ARENA_NEW_ARRAY(arena, XlacTensor, *out_count);
  for (int64_t i = 0; i < *out_count; i++) tensors[i] = take_tensor(reader);
  return tensors;
}

/* Of |tensors|: none, or one of |other_count| on the other side. */
static void check_aliases(ProgramReader *reader, const XlacTensor *tensors, int64_t count, int64_t other_count) {
  for (int64_t i = 0; i < count; i++) check(reader, tensors[i].alias >= -1 && tensors[i].alias < other_count);
}

static void put_sizes(StringBuilder *out, const XlacLeafSize *sizes, int64_t count) {
  put_int(out, count);
  put_block(out, sizes, (size_t)count * sizeof *sizes);
}

/* Of |tensors|, which they are dimensions of. */
static const XlacLeafSize *take_sizes(ProgramReader *reader, const XlacTensor *tensors, int64_t tensor_count,
                                      int64_t *out_count) {
  _Static_assert(sizeof(XlacLeafSize) == 3 * sizeof(int64_t), "three numbers each");
  *out_count = take_count(reader);
  const XlacLeafSize *sizes = (const void *)take_ints(reader, 3 * *out_count);
  for (int64_t i = 0; i < *out_count && !reader->failed; i++) {
    const XlacLeafSize *size = &sizes[i];
    check(reader, size->leaf >= 0 && size->leaf < tensor_count && size->size_leaf >= 0 &&
                      size->size_leaf < tensor_count && size->dimension >= 0 &&
                      size->dimension < tensors[size->leaf].rank);
  }
  return sizes;
}

static void put_signature(StringBuilder *out, const XlacDescriptor *signature) {
  put_text(out, sv_from_cstring(signature->module_name));
  put_tensors(out, signature->parameters, signature->parameter_count);
  put_tensors(out, signature->results, signature->result_count);
  put_int(out, signature->workspace_bytes);
  put_int(out, signature->workspace_alignment);
  put_int(out, signature->scratch_bytes_per_worker);
  put_int(out, signature->constants_bytes);
  put_int(out, (int64_t)signature->constants_hash);
  put_int(out, signature->prepared_bytes);
  put_int(out, signature->prepared_alignment);
  put_sizes(out, signature->parameter_sizes, signature->parameter_size_count);
  put_sizes(out, signature->result_sizes, signature->result_size_count);
  for (int64_t i = 0; i < signature->parameter_count; i++)
    put_text(out, sv_from_cstring(signature->parameter_names[i]));
}

static const XlacDescriptor *take_signature(ProgramReader *reader, Arena *arena) {
  XlacDescriptor *signature = ARENA_NEW(arena, XlacDescriptor);
  *signature = (XlacDescriptor){.struct_size = sizeof *signature, .abi_version = XLAC_ABI_VERSION};
  signature->module_name = take_text(reader).data;
  signature->parameters = take_tensors(reader, arena, &signature->parameter_count);
  signature->results = take_tensors(reader, arena, &signature->result_count);
  check_aliases(reader, signature->parameters, signature->parameter_count, signature->result_count);
  check_aliases(reader, signature->results, signature->result_count, signature->parameter_count);
  signature->workspace_bytes = take_int(reader);
  signature->workspace_alignment = take_int(reader);
  signature->scratch_bytes_per_worker = take_int(reader);
  signature->constants_bytes = take_int(reader);
  signature->constants_hash = (uint64_t)take_int(reader);
  signature->prepared_bytes = take_int(reader);
  signature->prepared_alignment = take_int(reader);
  check(reader, signature->workspace_bytes >= 0 && signature->workspace_alignment > 0 &&
                    signature->scratch_bytes_per_worker >= 0 && signature->prepared_bytes >= 0);
  signature->parameter_sizes =
      take_sizes(reader, signature->parameters, signature->parameter_count, &signature->parameter_size_count);
  signature->result_sizes =
      take_sizes(reader, signature->results, signature->result_count, &signature->result_size_count);
  const char **names = ARENA_NEW_ARRAY(arena, const char *, signature->parameter_count);
  for (int64_t i = 0; i < signature->parameter_count; i++) names[i] = take_text(reader).data;
  signature->parameter_names = names;
  return signature;
}

/* --- the program --- */

StringView compiled_program_write(Arena *arena, const CompiledProgram *program) {
  const CompiledObject *object = &program->object;
  StringBuilder out;
  sb_init(&out, arena);
  sb_append(&out, (StringView){magic, sizeof magic});
  put_text(&out, object->entry_name);
  put_int(&out, object->has_changed_name);
  put_int(&out, program->lower_bound_bytes);
  put_text(&out, program->target);
  put_int(&out, program->is_native);
  put_signature(&out, object->signature);
  put_int(&out, object->targets.count);
  for (int64_t i = 0; i < object->targets.count; i++) put_text(&out, object->targets.targets[i].symbol);
  put_text(&out, object->header);
  put_text(&out, program->map);
  put_text(&out, object->constants);
  put_text(&out, object->bytes);
  return sb_view(&out);
}

static CallTargets take_targets(ProgramReader *reader, Arena *arena) {
  int64_t count = take_count(reader);
  CallTarget *targets = ARENA_NEW_ARRAY(arena, CallTarget, count);
  for (int64_t i = 0; i < count; i++) targets[i].symbol = take_text(reader);
  return (CallTargets){count, targets};
}

bool compiled_program_read(Arena *arena, StringView bytes, CompiledProgram *out_program) {
  ProgramReader reader = {.bytes = bytes};
  CompiledObject *object = &out_program->object;
  *out_program = (CompiledProgram){0};
  const char *found = take(&reader, sizeof magic);
  if (found == NULL || memcmp(found, magic, sizeof magic) != 0) return false;
  object->entry_name = take_text(&reader);
  object->has_changed_name = take_int(&reader) != 0;
  out_program->lower_bound_bytes = take_int(&reader);
  out_program->target = take_text(&reader);
  out_program->is_native = take_int(&reader) != 0;
  object->signature = take_signature(&reader, arena);
  object->targets = take_targets(&reader, arena);
  object->header = take_text(&reader);
  out_program->map = take_text(&reader);
  object->constants = take_text(&reader);
  object->bytes = take_text(&reader);
  return !reader.failed && reader.at == bytes.size;
}

bool compiled_program_runs_here(Arena *arena, const CompiledProgram *program, StringView *out_here) {
  *out_here = SV("");
  if (!program->is_native) return true;
  StringBuilder here;
  sb_init(&here, arena);
  llvm_describe_target(&(LlvmOptions){0}, &here);
  if (sv_equal(sb_view(&here), program->target)) return true;
  *out_here = sb_view(&here);
  return false;
}

/* The first call of |symbol|; those that passes have put in place of others are not there. */
static SourceLoc place_of(const HloModule *module, StringView symbol) {
  for (int64_t c = 0; c < module->computations.count; c++) {
    const HloInstructionArray *list = &module->computations.data[c]->instructions;
    for (int64_t i = 0; i < list->count; i++) {
      bool calls = list->data[i]->opcode == HLO_CUSTOM_CALL && sv_equal(custom_call_target(list->data[i]), symbol);
      if (calls) return list->data[i]->loc;
    }
  }
  return NO_LOC;
}

void compiled_program_set_places(Arena *arena, const HloModule *module, CompiledProgram *program) {
  CallTargets *all = &program->object.targets;
  CallTarget *targets = ARENA_NEW_ARRAY(arena, CallTarget, all->count);
  for (int64_t i = 0; i < all->count; i++)
    targets[i] = (CallTarget){all->targets[i].symbol, place_of(module, all->targets[i].symbol)};
  all->targets = targets;
}
