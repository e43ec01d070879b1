/* --network and --measured: what the devices of a network take, docs/distributed.md. */
#ifndef XLAC_CLI_NETWORK_QUESTION_H
#define XLAC_CLI_NETWORK_QUESTION_H

#include "cli/driver.h"

/* What the options lack or contradict ("usage"), before any work. */
MUST_USE Status network_question_check(Session *session);
/* Whether --network is given. */
bool network_question_is_asked(const Session *session);
/* After the passes: reads the files and answers in the compilation's report.  Errors are those of file_read,
 * network_description_parse, json_file_read and compilation_plan_network, and "network-measured" for a file without
 * times. */
MUST_USE Status network_question_answer(Session *session);

/* The answer as text, unless --report is given, of which it is a section. */
void network_question_print(const Session *session, StringBuilder *out);

#endif
