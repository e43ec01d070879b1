/* Diagnostics as text (source line and caret, notes) or as JSON, one object a line. */
#ifndef XLAC_COMPILER_DIAGNOSTIC_PRINTER_H
#define XLAC_COMPILER_DIAGNOSTIC_PRINTER_H

#include "hlo/ir/hlo_module.h"

typedef struct DiagnosticStyle {
  bool json;
  bool color;
  bool show_codes; /* text: "[code]" after the message */
  bool hide_warnings;
  bool warnings_are_errors; /* shown as such */
} DiagnosticStyle;

/* Prints all diagnostics of |sink| in order.  |module| may be NULL; with it, a diagnostic at an instruction gets a note
 * with the Python line it came from. */
void diagnostics_print(StringBuilder *out, const DiagSink *sink, const DiagnosticStyle *style, const HloModule *module);

#endif
