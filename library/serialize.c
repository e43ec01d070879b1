/* Executables as bytes: a head, and those of the compiled program (compiler/compiled_program.h). */
#include <stdlib.h>
#include <string.h>

#include "base/content_digest.h"
#include "base/version.h"
#include "library/library_internal.h"

static const char magic[16] = "xlac executable";

typedef struct SerializedHead {
  char magic[16];
  char version[16];     /* of the library */
  int64_t size;         /* of what follows */
  ContentDigest digest; /* of the head, with zeros here, and what follows */
} SerializedHead;

static ContentDigest digest_of(const SerializedHead *head, StringView content) {
  SerializedHead without = *head;
  without.digest = (ContentDigest){0};
  ContentHash hash;
  content_hash_begin(&hash);
  content_hash_add(&hash, (StringView){(const char *)&without, sizeof without});
  content_hash_add(&hash, content);
  return content_hash_end(&hash);
}

typedef struct SerializeCall {
  const XlacExecutable *executable;
  char *bytes;
  size_t size;
} SerializeCall;

static void serialize(void *self) {
  SerializeCall *call = self;
  const XlacExecutable *executable = call->executable;
  SerializedHead head = {.version = XLAC_VERSION, .size = (int64_t)executable->bytes.size};
  memcpy(head.magic, magic, sizeof magic);
  head.digest = digest_of(&head, executable->bytes);
  call->size = sizeof head + executable->bytes.size;
  call->bytes = memory_for_library(call->size);
  memcpy(call->bytes, &head, sizeof head);
  memcpy(call->bytes + sizeof head, executable->bytes.data, executable->bytes.size);
}

XlacStatus xlac_executable_serialize(const XlacExecutable *executable, void **out_bytes, size_t *out_size) {
  SerializeCall call = {.executable = executable};
  XlacStatus status = library_call(&executable->client->listener, serialize, &call);
  *out_bytes = call.bytes;
  *out_size = call.size;
  return status;
}

typedef struct LoadCall {
  XlacClient *client;
  const char *name;
  StringView bytes;
  XlacExecutable *executable;
  XlacStatus status;
} LoadCall;

/* What is wrong with the bytes before they are looked into; NULL: nothing. */
static const char *fault_of(const SerializedHead *head, StringView content) {
  if (memcmp(head->magic, magic, sizeof magic) != 0) return "these are not the bytes of an executable";
  if (strncmp(head->version, XLAC_VERSION, sizeof head->version) != 0) return "another version of the library made it";
  ContentDigest digest = digest_of(head, content);
  bool is_whole = head->size == (int64_t)content.size && memcmp(&digest, &head->digest, sizeof digest) == 0;
  return is_whole ? NULL : "it is damaged";
}

static Status check_processor(const XlacExecutable *executable, const char *name, DiagSink *diag) {
  const CompiledProgram *program = &executable->program;
  StringView here;
  if (compiled_program_runs_here(diag->arena, program, &here)) return STATUS_OK;
  Status status = diag_error(diag, STATUS_INVALID, NO_LOC, "executable",
                             "cannot load '%s': it was compiled for another processor", name);
  diag_note(diag, NO_LOC, "it is for %.*s", SV_ARG(program->target));
  diag_note(diag, NO_LOC, "here is %.*s", SV_ARG(here));
  return status;
}

static Status load_bytes(LoadCall *call, DiagSink *diag) {
  SerializedHead head = {0};
  bool has_head = call->bytes.size >= sizeof head;
  if (has_head) memcpy(&head, call->bytes.data, sizeof head);
  StringView content = has_head ? sv_sub(call->bytes, sizeof head, call->bytes.size) : SV("");
  const char *fault = fault_of(&head, content);
  if (fault != NULL)
    return diag_error(diag, STATUS_INVALID, NO_LOC, "executable", "cannot load '%s': %s", call->name, fault);
  XlacExecutable *executable;
  RETURN_IF_ERROR(executable_create(call->client, content, NULL, diag, &executable));
  Status status = check_processor(executable, call->name, diag);
  if (status == STATUS_OK)
    call->executable = executable;
  else
    xlac_executable_destroy(executable);
  return status;
}

static void load(void *self) {
  LoadCall *call = self;
  Arena *arena = arena_create();
  DiagSink diag;
  diag_sink_init(&diag, arena);
  call->status = library_status(load_bytes(call, &diag));
  library_tell(&call->client->listener, &diag, NULL);
  arena_destroy(arena);
}

XlacStatus xlac_executable_load(XlacClient *client, const char *name, const void *bytes, size_t size,
                                XlacExecutable **out_executable) {
  LoadCall call = {.client = client, .name = name, .bytes = {bytes, size}};
  XlacStatus status = library_call(&client->listener, load, &call);
  *out_executable = status == XLAC_STATUS_OK ? call.executable : NULL;
  return status != XLAC_STATUS_OK ? status : call.status;
}
