#include "cli/network_question.h"

#include "base/monotonic_clock.h"
#include "cli/json_file.h"
#include "compiler/network_report.h"

bool network_question_is_asked(const Session *session) {
  return session_option_given(session, OPTION_NETWORK);
}

Status network_question_check(Session *session) {
  if (session_option_given(session, OPTION_MEASURED) && !network_question_is_asked(session))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'--measured' is for '--network'");
  return STATUS_OK;
}

static Status read_network(Session *session, NetworkDescription *out_network) {
  const char *path = session_option_text(session, OPTION_NETWORK, NULL);
  SourceFile *source = ARENA_NEW(session->arena, SourceFile);
  source->name = sv_from_cstring(path);
  RETURN_IF_ERROR(file_read(session->arena, path, session->diag, &source->text));
  return network_description_parse(session->arena, source, session->diag, out_network);
}

/* The least of the times in |file|, an object as 'run --time' writes it. */
static Status least_time(Session *session, const JsonValue *file, double *out_seconds) {
  const cJSON *times = cJSON_GetObjectItemCaseSensitive(file->tree, "run_s"),
              *least = cJSON_GetObjectItemCaseSensitive(times, "min"),
              *ranks = cJSON_GetObjectItemCaseSensitive(file->tree, "communication_s");
  if (!cJSON_IsNumber(least) || !(least->valuedouble > 0))
    return diag_error(session->diag, STATUS_INVALID, json_value_loc(file), "network-measured",
                      "there is no time in 'run_s', 'min': this is not what 'xlac run --time=FILE.json' writes");
  if (ranks != NULL)
    return diag_error(session->diag, STATUS_INVALID, json_value_loc(file), "network-measured",
                      "this was measured on several devices: 'run --partitions=1' measures one");
  *out_seconds = least->valuedouble;
  return STATUS_OK;
}

static Status read_measurement(Session *session, double *out_seconds) {
  const char *path = session_option_text(session, OPTION_MEASURED, NULL);
  if (path == NULL) return STATUS_OK;
  JsonValue file;
  RETURN_IF_ERROR(json_file_read(session->arena, path, session->diag, &file));
  Status status = least_time(session, &file, out_seconds);
  json_file_end(&file);
  return status;
}

Status network_question_answer(Session *session) {
  if (!network_question_is_asked(session)) return STATUS_OK;
  NetworkDescription network;
  NetworkQuestion question = {.network = &network};
  RETURN_IF_ERROR(read_network(session, &network));
  RETURN_IF_ERROR(read_measurement(session, &question.measured_seconds));
  double start = monotonic_seconds();
  Status status = compilation_plan_network(&session->compilation, &question);
  driver_end_phase(session, "network", start);
  return status;
}

void network_question_print(const Session *session, StringBuilder *out) {
  if (session->compilation.network == NULL || session_option_given(session, OPTION_REPORT)) return;
  network_report_text(out, &session->compilation);
}
