/* The text of xlac/abi.h, which xlac carries in itself for the headers of compiled modules. */
#ifndef XLAC_CODEGEN_ABI_TEXT_H
#define XLAC_CODEGEN_ABI_TEXT_H

#include "base/string_view.h"

/* With its include guard.  The bytes live as long as the program. */
StringView abi_text(void);

#endif
