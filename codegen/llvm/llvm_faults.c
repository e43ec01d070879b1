#include "codegen/llvm/llvm_faults.h"

#include <llvm-c/ErrorHandling.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

static void on_fatal_error(const char *reason) {
  XLAC_BUG("LLVM: %s", reason);
}

static void on_bad_alloc(void *data, const char *reason, bool wants_report) {
  (void)data, (void)reason, (void)wants_report;
  out_of_memory(0);
}

/* C++'s own.  Weak: a program that is linked with LLVM's shared library does not name C++'s, which that one brings. */
extern void (*set_new_handler(void (*handler)(void)))(void) __asm__("_ZSt15set_new_handlerPFvvE") __attribute__((weak));

/* In a process where others use C++ too, new may fail in their code: then it fails as it would without this handler. */
static void on_failed_new(void) {
  if (out_of_memory_is_handled()) out_of_memory(0);
  set_new_handler(NULL);
}

/* LLVM's, under its C++ name. */
typedef void BadAllocHandler(void *data, const char *reason, bool wants_report);
extern void install_bad_alloc_handler(BadAllocHandler *handler,
                                      void *data) __asm__("_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");

/* LLVM allocates in two ways: by malloc, which reports to a handler of its own, and by C++'s new, which reports to that
 * of the language.  LLVM-C has neither of them, hence their C++ names.  Without these handlers LLVM aborts. */
void llvm_faults_install(void) {
  LLVMInstallFatalErrorHandler(on_fatal_error);
  install_bad_alloc_handler(on_bad_alloc, NULL);
  if (set_new_handler != NULL) set_new_handler(on_failed_new);
}

char *llvm_text(char *text) {
  if (text == NULL) out_of_memory(0);
  return text;
}
