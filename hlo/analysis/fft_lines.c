#include "hlo/analysis/fft_lines.h"

bool hlo_fft_length_has_short_factors(int64_t length) {
  if (length < 1) return false;
  for (int64_t p = 2; p <= FFT_MOST_FACTOR; p++) {
    while (length % p == 0) length /= p;
  }
  return length == 1;
}

bool hlo_fft_is_in_one_piece(const HloInstruction *fft) {
  Int64List lengths = hlo_instruction_ints(fft, HLO_ATTR_FFT_LENGTH);
  int64_t points = 1;
  if (lengths.count < 1 || lengths.count > FFT_MOST_DIMENSIONS || shape_is_dynamic(fft->shape) ||
      shape_is_dynamic(fft->operands[0]->shape))
    return false;
  for (int64_t i = 0; i < lengths.count; i++) {
    if (!hlo_fft_length_has_short_factors(lengths.data[i]) || lengths.data[i] > FFT_MOST_POINTS / points) return false;
    points *= lengths.data[i];
  }
  return true;
}
