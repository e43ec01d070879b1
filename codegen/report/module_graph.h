/* ModuleGraph: what a graph of a module shows. */
#ifndef XLAC_CODEGEN_REPORT_MODULE_GRAPH_H
#define XLAC_CODEGEN_REPORT_MODULE_GRAPH_H

#include "codegen/report/report_internal.h"

typedef struct ModuleGraph {
  HloComputationArray computations; /* of which something is shown, callers first */
  bool *shown;                      /* by instruction id */
} ModuleGraph;

/* As a page: a picture of layers for each computation, operands above who reads them. */
void module_graph_page(StringBuilder *out, const HloModule *module, const ModuleGraph *graph, Arena *scratch);

#endif
