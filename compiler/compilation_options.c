#include "compiler/compilation_options.h"

#include "codegen/entry_name.h"

static Status check_entry_name(StringView name, DiagSink *diag) {
  if (!entry_name_is_identifier(name))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "'--entry-name' needs a C identifier, not '%.*s'",
                      SV_ARG(name));
  if (!entry_name_is_free(name))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage",
                      "'--entry-name': '%.*s' belongs to C, C++ or their libraries", SV_ARG(name));
  return STATUS_OK;
}

Status compilation_options_check(const CompilationOptions *options, DiagSink *diag) {
  if (options->has_entry_name) RETURN_IF_ERROR(check_entry_name(options->entry_name, diag));
  if (options->threads < 0 || options->threads > COMPILATION_MOST_THREADS)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "'--threads' needs a number from 1 to %d",
                      COMPILATION_MOST_THREADS);
  return llvm_check_cpu(options->mcpu, options->mattr, diag);
}
