/* How LLVM ends the process when it cannot go on. */
#ifndef XLAC_CODEGEN_LLVM_LLVM_FAULTS_H
#define XLAC_CODEGEN_LLVM_LLVM_FAULTS_H

/* From now on a lack of memory inside LLVM is out_of_memory, and what it calls a fatal error is XLAC_BUG. */
void llvm_faults_install(void);

/* |text| as LLVM-C hands it out: NULL is a lack of memory. */
char *llvm_text(char *text);

#endif
