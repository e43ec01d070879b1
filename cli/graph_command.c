/* xlac graph MODEL.hlo: the module as a graph, or what is around one of its instructions. */
#include "cli/driver.h"

enum { DEFAULT_DEPTH = 2 };

static Status graph(Session *session) {
  RETURN_IF_ERROR(driver_load(session, true));
  GraphView view = {session_option_text(session, OPTION_AROUND, NULL),
                    session_option_integer(session, OPTION_DEPTH, DEFAULT_DEPTH)};
  bool is_page = session_option_integer(session, OPTION_FORMAT, FORMAT_DOT) == FORMAT_HTML;
  StringBuilder text;
  sb_init(&text, session->arena);
  RETURN_IF_ERROR(
      report_graph(&text, session->compilation.module, &view, is_page ? REPORT_HTML : REPORT_TEXT, session->diag));
  return driver_add_output(session, session_option_text(session, OPTION_OUTPUT, "-"), sb_view(&text));
}

static Status check_usage(Session *session) {
  RETURN_IF_ERROR(driver_check_format(session, (const int[]){FORMAT_DOT, FORMAT_HTML}, 2));
  if (session_option_given(session, OPTION_DEPTH) && !session_option_given(session, OPTION_AROUND))
    return diag_error(session->diag, STATUS_INVALID, NO_LOC, "usage", "'--depth' is for '--around=NAME'");
  return driver_check_files(session, NULL, 0);
}

int graph_command(Session *session) {
  if (check_usage(session) != STATUS_OK) return session_end_usage(session);
  return session_end(session, graph(session));
}
