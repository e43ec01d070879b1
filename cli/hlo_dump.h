/* HloDump: --dump-hlo-before and --dump-hlo-after, a pipeline observer that writes modules to numbered files. */
#ifndef XLAC_CLI_HLO_DUMP_H
#define XLAC_CLI_HLO_DUMP_H

#include "cli/driver.h"

typedef struct HloDump {
  Session *session;
  WordList before, after;
  HloPipelineObserver observer;
} HloDump;

/* |dump| must stay where it is while the pipeline runs.  Each file is written at once, so that the dumps up to a pass
 * that fails remain: DIR/0007.after.fusion.hlo. */
void hlo_dump_init(HloDump *dump, Session *session);

#endif
