/* The machines that xlac knows by name: texts in the form of a user's file, read like one. */
#ifndef XLAC_HLO_MACHINE_DESCRIPTION_PRESETS_H
#define XLAC_HLO_MACHINE_DESCRIPTION_PRESETS_H

#include "hlo/machine/description/machine_description.h"

typedef struct MachinePreset {
  const char *name;
  const char *summary; /* one line */
  const char *text;
} MachinePreset;

int machine_preset_count(void);
const MachinePreset *machine_preset_at(int index);
/* NULL when there is none called |name|. */
const MachinePreset *machine_preset_find(StringView name);

/* Its description, in |arena|.  Errors are those of machine_description_parse: a bug of ours. */
MUST_USE Status machine_preset_parse(Arena *arena, const MachinePreset *preset, DiagSink *diag,
                                     MachineDescription *out_machine);

#endif
