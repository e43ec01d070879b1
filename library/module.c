/* Modules: HLO in memory. */
#include <stdlib.h>
#include <string.h>

#include "base/file_io.h"
#include "library/library_internal.h"

typedef struct ModuleCreation {
  XlacClient *client;
  const char *name; /* or path */
  const char *text; /* NULL: of the file */
  size_t size;
  XlacModule *module;
  XlacStatus status;
} ModuleCreation;

static Status load_module(const ModuleCreation *creation, XlacModule *module, DiagSink *diag) {
  Arena *arena = module->arena;
  module->source.name = sv_copy(arena, sv_from_cstring(creation->name));
  if (creation->text == NULL)
    RETURN_IF_ERROR(file_read(arena, creation->name, diag, &module->source.text));
  else
    module->source.text = sv_copy(arena, (StringView){creation->text, creation->size});
  Compilation compilation;
  compilation_init(&compilation, arena, &(CompilationOptions){0}, diag);
  RETURN_IF_ERROR(compilation_parse(&compilation, &module->source));
  RETURN_IF_ERROR(compilation_verify(&compilation));
  module->shapes = compilation.shapes;
  module->module = compilation.module;
  return STATUS_OK;
}

static void create_module(void *self) {
  ModuleCreation *creation = self;
  Arena *arena = arena_create();
  XlacModule *module = ARENA_NEW(arena, XlacModule);
  module->client = creation->client;
  module->arena = arena;
  DiagSink diag;
  diag_sink_init(&diag, arena);
  Status status = load_module(creation, module, &diag);
  library_tell(&creation->client->listener, &diag, module->module);
  creation->status = library_status(status);
  if (status == STATUS_OK)
    creation->module = module;
  else
    arena_destroy(arena);
}

static XlacStatus create(ModuleCreation *creation, XlacModule **out_module) {
  XlacStatus status = library_call(&creation->client->listener, create_module, creation);
  *out_module = creation->module;
  return status != XLAC_STATUS_OK ? status : creation->status;
}

XlacStatus xlac_module_parse(XlacClient *client, const char *name, const char *text, size_t size,
                             XlacModule **out_module) {
  bool is_empty = text == NULL; /* which stands for a file inside */
  ModuleCreation creation = {.client = client, .name = name, .text = is_empty ? "" : text, .size = is_empty ? 0 : size};
  return create(&creation, out_module);
}

XlacStatus xlac_module_read(XlacClient *client, const char *path, XlacModule **out_module) {
  return create(&(ModuleCreation){.client = client, .name = path != NULL ? path : ""}, out_module);
}

void xlac_module_destroy(XlacModule *module) {
  if (module != NULL) arena_destroy(module->arena);
}

typedef struct ModulePrinting {
  const XlacModule *module;
  char *text;
  size_t size;
} ModulePrinting;

static void print_module(void *self) {
  ModulePrinting *printing = self;
  Arena *scratch = arena_create();
  StringBuilder text;
  sb_init(&text, scratch);
  hlo_module_print(&text, printing->module->module, &HLO_PRINT_DEFAULT);
  printing->text = memory_for_library(text.size + 1);
  memcpy(printing->text, sv_copy(scratch, sb_view(&text)).data, text.size + 1);
  printing->size = text.size;
  arena_destroy(scratch);
}

XlacStatus xlac_module_print(XlacModule *module, char **out_text, size_t *out_size) {
  ModulePrinting printing = {.module = module};
  XlacStatus status = library_call(&module->client->listener, print_module, &printing);
  *out_text = printing.text;
  if (out_size != NULL) *out_size = printing.size;
  return status;
}
