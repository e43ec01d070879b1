/* Polynomials and tables of the mathematical functions, fitted by scripts/fit_math.py; math_fits.c says what each
 * approximates. */
#ifndef XLAC_CODEGEN_VEC_MATH_FITS_H
#define XLAC_CODEGEN_VEC_MATH_FITS_H

#define MATH_FIT_MAX_TERMS 24

typedef struct MathFit {
  int count;
  double terms[MATH_FIT_MAX_TERMS]; /* from the highest power down */
} MathFit;

/* A polynomial in x - center whose terms are floats. */
typedef struct MathCenteredFit {
  double center;
  MathFit fit;
} MathCenteredFit;

/* Values for four bits of an index. */
#define MATH_TABLE_SIZE 16
typedef struct MathTable {
  double values[MATH_TABLE_SIZE];
} MathTable;

/* For five bits. */
#define MATH_LONG_TABLE_SIZE 32
typedef struct MathLongTable {
  double values[MATH_LONG_TABLE_SIZE];
} MathLongTable;

/* A function of [0, 15.5 steps) in pieces, number k around k·step: for each a polynomial in the distance from there,
 * whose terms are floats, from the highest power down. */
#define MATH_PIECES_MAX_TERMS 8
typedef struct MathPieces {
  double step; /* so few digits that 15 of them are a float */
  int count;
  MathTable terms[MATH_PIECES_MAX_TERMS];
} MathPieces;

extern const MathFit fit_exp_single, fit_exp_sixteenth, fit_exp_sixteenth_double, fit_exp_middle, fit_exp_double;
extern const MathFit fit_log_single, fit_log_piece, fit_log_middle, fit_log_double, fit_log_pair;
extern const MathFit fit_log_piece_middle, fit_log_piece_double, fit_log_piece_pair;
extern const MathFit fit_sin_middle, fit_sin_double, fit_cos_middle, fit_cos_double;
extern const MathFit fit_atan_middle, fit_atan_double, fit_asin_middle, fit_asin_double;
extern const MathFit fit_tanh_single, fit_tanh_double;
extern const MathFit fit_erf_single, fit_erf_near_double, fit_erf_far_double, fit_erfc_single, fit_erfc_double;
extern const MathFit fit_cbrt;

extern const MathCenteredFit fit_sin_half_turn;

extern const MathTable table_power, table_power_low;
extern const MathTable table_log_factor_double, table_log_high_double, table_log_low_double;
extern const MathLongTable table_tanh, table_log_factor, table_log_high, table_log_low;
extern const MathPieces pieces_erf, pieces_erfc;

#endif
