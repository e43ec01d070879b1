/* OpenBLAS works in the thread that calls it. */
#ifndef XLAC_RUNTIME_LAPACK_BLAS_THREADS_H
#define XLAC_RUNTIME_LAPACK_BLAS_THREADS_H

/* From the first begin to the end of the last call under way, OpenBLAS starts no work in threads of its own.  Then it
 * has as many again as before, unless the program has chosen another number meanwhile.  Any thread may call these; each
 * begin has its end.  Nothing for another BLAS. */
void blas_threads_begin(void);
void blas_threads_end(void);

#endif
