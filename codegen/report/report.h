/* Reports on a module, its memory above all, for people and scripts. */
#ifndef XLAC_CODEGEN_REPORT_REPORT_H
#define XLAC_CODEGEN_REPORT_REPORT_H

#include "base/json_writer.h"
#include "base/page/memory_chart.h"
#include "hlo/analysis/buffer_assignment.h"

typedef enum ReportFormat { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_HTML } ReportFormat;

/* Text or a JSON member that another room adds to a report; |json|: "oncore": [...] with the key given here. */
typedef struct ReportSection {
  void *self;
  const char *key;
  void (*text)(void *self, StringBuilder *out);
  void (*json)(void *self, JsonWriter *json);
} ReportSection;

/* The buffer map: every allocation with what lives in it, when and why; totals; peak against lower bound.  TEXT or
 * JSON.  |more| (NULL: nothing) comes last. */
void report_buffer_map(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                       ReportFormat format, const ReportSection *more);

/* Live range, size, offset, sharing and reason of every buffer.  CSV begins id,lower,upper,size (upper exclusive,
 * temporaries' sizes as planned), followed by offset and further columns.  HTML: a page with a picture of all memory.
 */
void report_liveness(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment,
                     ReportFormat format);

/* Workspace with scratch, results, arguments and constants as regions of a picture; in |arena|, the names the module's.
 */
MemoryChart report_memory_chart(Arena *arena, const HloModule *module, const BufferAssignment *assignment);

/* Allocations and values in the layout of XLA's own buffer-assignment.txt. */
void report_buffer_assignment(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment);

/* The table of the largest buffers live at the peak (size, shape, HLO name, opcode, source line), at most |limit| rows:
 * those of the workspace, temporaries and scratch, first.
 */
void report_peak_buffers(StringBuilder *out, const HloModule *module, const BufferAssignment *assignment, int limit);

/* Parameters and results with their sizes, the arithmetic and the bytes of a run (hlo/analysis/operation_counts.h), how
 * often each opcode occurs.  TEXT or JSON. */
void report_module_info(StringBuilder *out, const HloModule *module, ReportFormat format);

/* Which instructions a graph shows: all, or those at most |depth| edges (operands, control predecessors, called roots)
 * away from |around|, whichever way the edges lead. */
typedef struct GraphView {
  const char *around; /* the name of one that is in the graph; NULL: all */
  int64_t depth;
} GraphView;

/* |module| as a graph: a node for each instruction of the entry and of the computations that control flow calls, each
 * of which is a cluster; a fusion is one node.  |format|: TEXT, the DOT language; HTML, a page with a picture for each
 * computation.  STATUS_INVALID (code "question") where nothing in the graph has the name that |view| asks for. */
MUST_USE Status report_graph(StringBuilder *out, const HloModule *module, const GraphView *view, ReportFormat format,
                             DiagSink *diag);

#endif
