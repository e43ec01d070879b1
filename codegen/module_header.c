#include "codegen/module_header.h"

#include <string.h>

#include "codegen/abi_text.h"
#include "codegen/descriptor.h"
#include "codegen/entry_name.h"
#include "codegen/module_leaves.h"

typedef struct HeaderWriter {
  const HloModule *module;
  const BufferAssignment *assignment;
  const ConstantFile *constants; /* may be NULL */
  ModuleLeaves leaves;
  StringView name, macro; /* of the function; in capital letters */
  Arena *arena;
  StringBuilder out;
} HeaderWriter;

static StringView capitals(StringView name, Arena *arena) {
  StringBuilder text;
  sb_init(&text, arena);
  for (size_t i = 0; i < name.size; i++) {
    char c = name.data[i];
    sb_append_char(&text, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c);
  }
  return sb_view(&text);
}

/* --- the comment --- */

/* |text| in a comment, which must not end in it. */
static void append_quoted(StringBuilder *out, StringView text) {
  for (size_t k = 0; k < text.size; k++) sb_append_char(out, strchr("*/\\\n\r", text.data[k]) ? '?' : text.data[k]);
}

static void describe_leaf(HeaderWriter *writer, const char *array, int64_t index, const TensorLeaf *leaf) {
  StringView shape = shape_text(writer->arena, leaf->shape, true);
  sb_printf(&writer->out, " *   %s[%lld]  %.*s  ", array, (long long)index, SV_ARG(shape));
}

/* The name by which a program knows it, then the HLO's where that is another one. */
static void describe_arguments(HeaderWriter *writer) {
  for (int64_t i = 0; i < writer->leaves.parameter_count; i++) {
    const TensorLeaf *leaf = &writer->leaves.parameters[i];
    StringView name = writer->leaves.parameter_names[i];
    describe_leaf(writer, "arguments", i, leaf);
    sb_append(&writer->out, name);
    if (!sv_equal(name, leaf->name)) {
      sb_append_cstring(&writer->out, "  (in the HLO: ");
      append_quoted(&writer->out, leaf->name);
      sb_append_char(&writer->out, ')');
    }
    sb_append_char(&writer->out, '\n');
  }
}

static void describe_results(HeaderWriter *writer) {
  for (int64_t i = 0; i < writer->leaves.result_count; i++) {
    describe_leaf(writer, "results", i, &writer->leaves.results[i]);
    append_quoted(&writer->out, writer->leaves.results[i].name);
    sb_append_char(&writer->out, '\n');
  }
}

static void describe_sizes(HeaderWriter *writer, const char *array, const LeafSize *sizes, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    sb_printf(&writer->out, " *   %s[%lld] is the size of dimension %lld of %s[%lld]\n", array,
              (long long)sizes[i].size_leaf, (long long)sizes[i].dimension, array, (long long)sizes[i].leaf);
}

static void describe_donations(HeaderWriter *writer) {
  bool is_first = true;
  for (int64_t i = 0; i < writer->leaves.result_count; i++) {
    const TensorLeaf *result = &writer->leaves.results[i];
    if (result->alias < 0) continue;
    if (is_first)
      sb_append_cstring(&writer->out,
                        " * Donated: one pointer for both updates in place, two leave the argument as it is:\n");
    is_first = false;
    StringView name = writer->leaves.parameter_names[result->alias];
    sb_printf(&writer->out, " *   arguments[%lld] (%.*s) and results[%lld]\n", (long long)result->alias, SV_ARG(name),
              (long long)i);
  }
}

static void describe_targets(StringBuilder *out, const CallTargets *targets) {
  bool needs_lapack = false;
  if (targets->count > 0) sb_append_cstring(out, " * To be linked with functions for its custom calls:\n");
  for (int64_t i = 0; i < targets->count; i++) {
    StringView symbol = targets->targets[i].symbol;
    sb_append_cstring(out, " *   ");
    append_quoted(out, symbol);
    sb_append_char(out, '\n');
    needs_lapack |= sv_starts_with(symbol, SV("lapack_"));
  }
  if (needs_lapack)
    sb_append_cstring(out, " * LAPACK's are in xlac's libxlac_lapack.a, before -llapacke -lopenblas -lm\n");
}

static void describe_preparation(HeaderWriter *writer) {
  sb_printf(&writer->out,
            " * %.*s" ENTRY_PREPARE_SUFFIX
            " computes once what runs need of arguments that stay the same: %lld bytes at a multiple of %d,\n"
            " * which options->prepared gives to each run.  Of all arguments it reads:\n",
            SV_ARG(writer->name), (long long)writer->assignment->prepared_bytes, DESCRIPTOR_PREPARED_ALIGNMENT);
  for (int64_t i = 0; i < writer->leaves.parameter_count; i++) {
    if (!writer->leaves.is_read_before[i]) continue;
    sb_printf(&writer->out, " *   arguments[%lld] (%.*s)%s\n", (long long)i, SV_ARG(writer->leaves.parameter_names[i]),
              writer->leaves.is_read_by_runs[i] ? "" : ", which runs do not read");
  }
}

static void add_comment(HeaderWriter *writer, const CallTargets *targets) {
  const HloModule *module = writer->module;
  sb_append_cstring(&writer->out, "/* HLO module '");
  append_quoted(&writer->out, module->name);
  sb_printf(&writer->out, "', compiled by xlac to the function %.*s, an XlacFunction (below).\n", SV_ARG(writer->name));
  describe_arguments(writer);
  describe_results(writer);
  describe_sizes(writer, "arguments", module->parameter_sizes.data, module->parameter_sizes.count);
  describe_sizes(writer, "results", module->result_sizes.data, module->result_sizes.count);
  describe_donations(writer);
  sb_append_cstring(
      &writer->out,
      " * With options->parallel_for the workspace has (worker_count - 1) * scratch_bytes_per_worker more "
      "bytes.\n");
  if (writer->constants != NULL)
    sb_printf(
        &writer->out,
        " * Its large constants are in a file of %lld bytes, which was written with the object: options->constants\n"
        " * is that file in memory (xlac/constants.h maps it).\n",
        (long long)writer->constants->bytes.size);
  if (writer->assignment->prepared_bytes > 0) describe_preparation(writer);
  describe_targets(&writer->out, targets);
  sb_append_cstring(&writer->out, " */\n");
}

/* --- the macros --- */

static void define(HeaderWriter *writer, const char *what, int64_t value) {
  sb_printf(&writer->out, "#define %.*s_%s %lld\n", SV_ARG(writer->macro), what, (long long)value);
}

static int64_t bytes_of(const TensorLeaf *leaf) {
  return shape_is_array(leaf->shape) ? shape_byte_size(leaf->shape) : 0;
}

static void add_macros(HeaderWriter *writer) {
  StringView macro = writer->macro;
  sb_printf(&writer->out,
            "#ifdef %.*s_WORKSPACE_BYTES\n#error \"macros of another model begin with %.*s_, too: 'xlac "
            "--entry-name=NAME' gives one of them another name\"\n#endif\n",
            SV_ARG(macro), SV_ARG(macro));
  define(writer, "WORKSPACE_BYTES", writer->assignment->workspace_bytes);
  define(writer, "WORKSPACE_ALIGNMENT", DESCRIPTOR_WORKSPACE_ALIGNMENT);
  define(writer, "SCRATCH_BYTES_PER_WORKER", writer->assignment->scratch_bytes_per_worker);
  define(writer, "CONSTANTS_BYTES", writer->constants == NULL ? 0 : (int64_t)writer->constants->bytes.size);
  define(writer, "PREPARED_BYTES", writer->assignment->prepared_bytes);
  if (writer->assignment->prepared_bytes > 0) define(writer, "PREPARED_ALIGNMENT", DESCRIPTOR_PREPARED_ALIGNMENT);
  define(writer, "ARGUMENTS", writer->leaves.parameter_count);
  define(writer, "RESULTS", writer->leaves.result_count);
  for (int64_t i = 0; i < writer->leaves.parameter_count; i++) {
    StringView name = writer->leaves.parameter_names[i];
    define(writer, arena_printf(writer->arena, "ARGUMENT_%.*s", SV_ARG(name)), i);
    define(writer, arena_printf(writer->arena, "BYTES_OF_%.*s", SV_ARG(name)), bytes_of(&writer->leaves.parameters[i]));
  }
  for (int64_t i = 0; i < writer->leaves.result_count; i++)
    define(writer, arena_printf(writer->arena, "RESULT_%lld_BYTES", (long long)i),
           bytes_of(&writer->leaves.results[i]));
}

/* --- the whole --- */

StringView module_header(const HloModule *module, const BufferAssignment *assignment, const CallTargets *targets,
                         const ConstantFile *constants, StringView entry_name, Arena *arena) {
  HeaderWriter writer = {.module = module,
                         .assignment = assignment,
                         .constants = constants,
                         .leaves = module_leaves(module, assignment, arena),
                         .name = entry_name,
                         .macro = capitals(entry_name, arena),
                         .arena = arena};
  StringBuilder *out = &writer.out;
  sb_init(out, arena);
  add_comment(&writer, targets);
  sb_printf(out, "#ifndef XLAC_MODULE_%.*s_H\n#define XLAC_MODULE_%.*s_H\n\n", SV_ARG(entry_name), SV_ARG(entry_name));
  sb_append(out, abi_text());
  sb_append_char(out, '\n');
  add_macros(&writer);
  sb_append_cstring(out, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
  sb_printf(out, "extern const XlacDescriptor %.*s_descriptor;\n", SV_ARG(entry_name));
  sb_printf(
      out,
      "int %.*s(const void *const *arguments, void *const *results, void *workspace, const XlacRunOptions *options);\n",
      SV_ARG(entry_name));
  if (assignment->prepared_bytes > 0)
    sb_printf(out,
              "int %.*s" ENTRY_PREPARE_SUFFIX
              "(const void *const *arguments, void *prepared, void *workspace, const XlacRunOptions *options);\n",
              SV_ARG(entry_name));
  sb_append_cstring(out, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
  return sb_view(out);
}
