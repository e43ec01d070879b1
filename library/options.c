/* Options of compilations, by the command line's names. */
#include <string.h>

#include "library/library_internal.h"

typedef struct OptionsCreation {
  XlacClient *client;
  XlacOptions *options;
} OptionsCreation;

static void create_options(void *self) {
  OptionsCreation *creation = self;
  Arena *arena = arena_create();
  creation->options = ARENA_NEW(arena, XlacOptions);
  creation->options->client = creation->client;
  creation->options->arena = arena;
  creation->options->values.command = COMMAND_RUN; /* code for this processor */
}

XlacStatus xlac_options_create(XlacClient *client, XlacOptions **out_options) {
  OptionsCreation creation = {client, NULL};
  XlacStatus status = library_call(&client->listener, create_options, &creation);
  *out_options = creation.options;
  return status;
}

void xlac_options_destroy(XlacOptions *options) {
  if (options != NULL) arena_destroy(options->arena);
}

void xlac_options_set_listener(XlacOptions *options, const XlacListener *listener) {
  options->listener = library_copy_listener(listener);
}

typedef struct OptionSetting {
  XlacOptions *options;
  const char *name, *value;
  XlacStatus status;
} OptionSetting;

/* "O", "-O", "mcpu" or "--mcpu". */
static bool find_option(const char *name, OptionId *out_id) {
  name += strspn(name, "-");
  if (option_find(sv_from_cstring(name), out_id)) return option_is_of_library(*out_id);
  for (int id = 0; id < OPTION_COUNT && name[0] != '\0' && name[1] == '\0'; id++) {
    *out_id = (OptionId)id;
    if (option_info(*out_id)->letter == name[0]) return option_is_of_library(*out_id);
  }
  return false;
}

static Status set_option(const OptionSetting *setting, DiagSink *diag) {
  XlacOptions *options = setting->options;
  OptionId id;
  if (!find_option(setting->name, &id)) {
    Status status =
        diag_error(diag, STATUS_INVALID, NO_LOC, "usage", "a compilation has no option '%s'", setting->name);
    option_note_nearest(sv_from_cstring(setting->name), true, diag);
    return status;
  }
  bool is_flag = option_info(id)->kind == OPTION_KIND_FLAG;
  if (is_flag != (setting->value == NULL))
    return diag_error(diag, STATUS_INVALID, NO_LOC, "usage",
                      is_flag ? "option '%s' takes no value" : "option '%s' needs a value", setting->name);
  const char *value = is_flag ? NULL : arena_copy_string(options->arena, setting->value, strlen(setting->value));
  OptionValue before = options->values.values[id];
  Status status = option_set(options->arena, &options->values, id, value, diag);
  if (status != STATUS_OK) options->values.values[id] = before;
  return status;
}

static void set_and_tell(void *self) {
  OptionSetting *setting = self;
  DiagSink diag;
  diag_sink_init(&diag, setting->options->arena);
  setting->status = library_status(set_option(setting, &diag));
  library_tell(library_listener(setting->options->client, setting->options), &diag, NULL);
}

XlacStatus xlac_options_set(XlacOptions *options, const char *name, const char *value) {
  OptionSetting setting = {options, name, value, XLAC_STATUS_OK};
  XlacStatus status = library_call(library_listener(options->client, options), set_and_tell, &setting);
  return status != XLAC_STATUS_OK ? status : setting.status;
}

XlacStatus xlac_options_add_report(XlacOptions *options, XlacReport report) {
  if ((unsigned)report >= XLAC_REPORT_COUNT) return XLAC_STATUS_INVALID;
  options->wants[report] = true;
  return XLAC_STATUS_OK;
}
