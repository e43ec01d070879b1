/* Splits against the evaluator: what a module computes is the same in parts of any size. */
#include "passes/memory/split_testing.h"

/* --- kinds --- */

static const Case cases[] = {
    /* the gradient by the weights of a grouped convolution: the images of a batch are summed */
    {"x = f32[12,5,5,4] parameter(0)\n g = f32[12,5,5,8] parameter(1)\n t = f32[12,5,5,8] tanh(g)\n"
     "ROOT r = f32[3,3,1,8] convolution(x, t), window={size=5x5 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf, "
     "batch_group_count=4",
     {"t"},
     1,
     1e-5,
     NULL},
    /* what stands between two operations that keep rows; columns fold */
    {"p = f32[12,10] parameter(0)\n zero = f32[] constant(0)\n e = f32[12,10] exponential(p)\n"
     "ROOT r = f32[12] reduce(e, zero), dimensions={1}, to_apply=add",
     {"e"},
     2,
     1e-6,
     NULL},
    /* an exact fold of what positions are part of; its init counts once */
    {"p = f32[8,12] parameter(0)\n init = f32[] constant(0.5)\n i = s32[8,12] iota(), iota_dimension=1\n"
     "f = f32[8,12] convert(i)\n x = f32[8,12] sine(p)\n y = f32[8,12] multiply(x, f)\n"
     "ROOT r = f32[8] reduce(y, init), dimensions={1}, to_apply=max",
     {"y"},
     2,
     0,
     NULL},
    /* attention: rows of the scores */
    {"q = f32[13,4] parameter(0)\n k = f32[11,4] parameter(1)\n v = f32[11,5] parameter(2)\n"
     "s = f32[13,11] dot(q, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
     "low = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
     "m = f32[13] reduce(s, low), dimensions={1}, to_apply=max\n mb = f32[13,11] broadcast(m), dimensions={0}\n"
     "d = f32[13,11] subtract(s, mb)\n e = f32[13,11] exponential(d)\n"
     "t = f32[13] reduce(e, zero), dimensions={1}, to_apply=add\n tb = f32[13,11] broadcast(t), dimensions={0}\n"
     "w = f32[13,11] divide(e, tb)\n"
     "ROOT r = f32[13,5] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
     {"s", "e", "w"},
     1,
     0,
     NULL},
    /* a batched product, by batch, rows, and what is contracted */
    {"a = f32[7,9,3] parameter(0)\n b = f32[7,3,8] parameter(1)\n c = f32[7,8,2] parameter(2)\n"
     "p = f32[7,9,8] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}\n"
     "t = f32[7,9,8] negate(p)\n"
     "ROOT r = f32[7,9,2] dot(t, c), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={1}",
     {"p", "t"},
     3,
     1e-5,
     NULL},
    /* a bias and a residual that is added to a sum of parts, through a reshape, and what is added to another one */
    {"x = f32[4,6] parameter(0)\n w = f32[6,24] parameter(1)\n v = f32[24,6] parameter(2)\n b = f32[6] parameter(3)\n"
     "h = f32[4,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n t = f32[4,24] tanh(h)\n"
     "d = f32[4,6] dot(t, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
     "d2 = f32[2,2,6] reshape(d)\n bb = f32[2,2,6] broadcast(b), dimensions={2}\n e = f32[2,2,6] add(d2, bb)\n"
     "n = f32[4,6] negate(x)\n n2 = f32[2,2,6] reshape(n)\n f = f32[2,2,6] add(n2, e)\n"
     "ROOT r = f32[2,2,6] multiply(f, n2)",
     {"h", "t"},
     1,
     1e-5,
     NULL},
    /* what needs the group is added afterwards */
    {"x = f32[4,6] parameter(0)\n w = f32[6,24] parameter(1)\n v = f32[24,6] parameter(2)\n zero = f32[] constant(0)\n"
     "h = f32[4,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n t = f32[4,24] tanh(h)\n"
     "m = f32[4] reduce(t, zero), dimensions={1}, to_apply=add\n mb = f32[4,6] broadcast(m), dimensions={0}\n"
     "k = f32[4,6] exponential(mb)\n"
     "d = f32[4,6] dot(t, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n ROOT r = f32[4,6] add(k, d)",
     {"h", "t"},
     1,
     1e-5,
     NULL},
    /* rows that are sorted, two arrays at a time */
    {"x = f32[11,6] parameter(0)\n e = f32[11,6] negate(x)\n i = s32[11,6] iota(), iota_dimension=1\n"
     "s = (f32[11,6], s32[11,6]) sort(e, i), dimensions={1}, is_stable=true, to_apply=less2\n"
     "v = f32[11,6] get-tuple-element(s), index=0\n n = s32[11,6] get-tuple-element(s), index=1\n"
     "f = f32[11,6] convert(n)\n m = f32[11,6] multiply(v, f)\n ROOT r = f32[11,2] slice(m), slice={[0:11], [1:3]}",
     {"s", "m"},
     1,
     0,
     NULL},
    /* columns */
    {"x = f32[5,13] parameter(0)\n e = f32[5,13] negate(x)\n s = f32[5,13] sort(e), dimensions={0}, to_apply=less\n"
     "ROOT r = f32[1,13] slice(s), slice={[2:3], [0:13]}",
     {"e", "s"},
     1,
     0,
     NULL},
    /* cumulative sums */
    {"x = f32[9,8] parameter(0)\n zero = f32[] constant(0)\n e = f32[9,8] abs(x)\n"
     "s = f32[9,8] reduce-window(e, zero), window={size=1x8 pad=0_0x7_0}, to_apply=add\n"
     "ROOT r = f32[9] reduce(s, zero), dimensions={1}, to_apply=max",
     {"s"},
     1,
     0,
     NULL},
    /* Features between two convolutions are cut as well: the second one sums parts. */
    /* images of a batch, and features between convolutions of nothing but these */
    {"x = f32[6,5,5,2] parameter(0)\n k = f32[3,3,2,4] parameter(1)\n l = f32[3,3,4,1] parameter(2)\n"
     "c = f32[6,5,5,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
     "act = f32[6,5,5,4] abs(c)\n"
     "ROOT r = f32[6,5,5,1] convolution(act, l), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
     {"act"},
     1,
     1e-5,
     NULL},
    /* rows of one image: windows reach into the neighbours' parts, and beyond the borders */
    {"x = f32[1,16,5,2] parameter(0)\n k = f32[3,3,2,4] parameter(1)\n l = f32[3,3,4,1] parameter(2)\n"
     "cv = f32[1,16,5,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
     "one = f32[] constant(1)\n ones = f32[1,16,5,4] broadcast(one), dimensions={}\n act = f32[1,16,5,4] add(cv, "
     "ones)\n"
     "ROOT r = f32[1,16,5,1] convolution(act, l), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f",
     {"act", "cv"},
     2,
     1e-5,
     NULL},
    /* strides, dilation, a pooling whose borders count as its init, and what is there as it is */
    {"x = f32[1,32,3,2] parameter(0)\n k = f32[4,3,2,4] parameter(1)\n y = f32[1,16,3,4] parameter(2)\n"
     "cv = f32[1,16,3,4] convolution(x, k), window={size=4x3 stride=2x1 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
     "s = f32[1,16,3,4] subtract(cv, y)\n low = f32[] constant(0.25)\n"
     "p = f32[1,16,3,4] reduce-window(s, low), window={size=1x3x1x1 pad=0_0x1_1x0_0x0_0}, to_apply=max\n"
     "e = f32[1,16,3,4] negate(p)\n l = f32[2,1,4,1] parameter(3)\n"
     "ROOT r = f32[1,16,3,1] convolution(e, l), window={size=2x1 pad=2_0x0_0 rhs_dilate=2x1}, "
     "dim_labels=b01f_01io->b01f",
     {"cv", "s", "e"},
     3,
     1e-5,
     NULL},
    /* what goes around others as well as through them is there before: a connection that skips them */
    {"p = f32[12,10] parameter(0)\n zero = f32[] constant(0)\n e = f32[12,10] sine(p)\n"
     "t = f32[12,10] reverse(e), dimensions={0,1}\n w = f32[12,20] concatenate(e, t), dimensions={1}\n"
     "y = f32[12,20] exponential(w)\n ROOT r = f32[12] reduce(y, zero), dimensions={1}, to_apply=max",
     {"y", "w", "e", "t"},
     1,
     0,
     NULL},
    /* a constant array that what comes before and after reads as well ties nothing together */
    {"p = f32[12,10] parameter(0)\n zero = f32[] constant(0)\n two = f32[] constant(2)\n"
     "twos = f32[12,10] broadcast(two), dimensions={}\n q = f32[12,10] add(p, twos)\n"
     "turned = f32[12,10] reverse(q), dimensions={0,1}\n e = f32[12,10] power(turned, twos)\n"
     "m = f32[12] reduce(e, zero), dimensions={1}, to_apply=max\n mm = f32[10,12] broadcast(m), dimensions={1}\n"
     "t = f32[12,10] transpose(mm), dimensions={1,0}\n ROOT r = f32[12,10] multiply(t, twos)",
     {"turned", "e"},
     1,
     0,
     NULL},
    /* transforms and factorisations of a batch */
    {"x = c64[7,8] parameter(0)\n f = c64[7,8] fft(x), fft_type=FFT, fft_length={8}\n"
     "g = c64[7,8] multiply(f, f)\n i = c64[7,8] fft(g), fft_type=IFFT, fft_length={8}\n ROOT r = f32[7,8] real(i)",
     {"f", "g"},
     1,
     0,
     NULL},
    {"x = f32[5,3,3] parameter(0)\n b = f32[5,3,2] parameter(1)\n"
     "p = f32[5,3,3] dot(x, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
     "rhs_contracting_dims={2}\n"
     "l = f32[5,3,3] cholesky(p), lower=true\n"
     "ROOT s = f32[5,3,2] triangular-solve(l, b), left_side=true, lower=true, unit_diagonal=false, "
     "transpose_a=NO_TRANSPOSE",
     {"p", "l"},
     1,
     0,
     NULL},
    /* heads that are taken apart and put together: a unit is what a reshape keeps */
    {"x = f32[12,6] parameter(0)\n e = f32[12,6] negate(x)\n h = f32[3,4,2,3] reshape(e)\n"
     "t = f32[3,2,4,3] transpose(h), dimensions={0,2,1,3}\n m = f32[6,12] reshape(t)\n u = f32[6,12] abs(m)\n"
     "low = f32[] constant(-inf)\n ROOT r = f32[6] reduce(u, low), dimensions={1}, to_apply=max",
     {"e", "u"},
     1,
     0,
     NULL},
    /* looked up, padded, joined, turned round, updated: along what they leave alone */
    {"x = f32[9,4] parameter(0)\n i = s32[3,1] constant({{2},{0},{3}})\n zero = f32[] constant(0)\n e = f32[9,4] "
     "negate(x)\n"
     "g = f32[9,3] gather(e, i), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, index_vector_dim=1, "
     "slice_sizes={9,1}\n"
     "p = f32[9,5] pad(g, zero), padding=0_0x1_1\n c = f32[9,9] concatenate(p, e), dimensions={1}\n"
     "t = f32[9,9] reverse(c), dimensions={1}\n one = s32[] constant(1)\n none = s32[] constant(0)\n"
     "d = f32[9,2] dynamic-slice(t, none, one), dynamic_slice_sizes={9,2}\n"
     "w = f32[9,9] dynamic-update-slice(t, d, none, none)\n"
     "low = f32[] constant(-inf)\n ROOT r = f32[9] reduce(w, low), dimensions={1}, to_apply=max",
     {"t", "w"},
     1,
     0,
     NULL},
    /* rows that are scattered to, as wide as the array */
    {"x = f32[3,14] parameter(0)\n i = s32[2,1] parameter(1)\n u = f32[2,14] parameter(2)\n e = f32[3,14] negate(x)\n"
     "s = f32[3,14] scatter(e, i, u), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add\n"
     "zero = f32[] constant(0)\n ROOT r = f32[14] reduce(s, zero), dimensions={0}, to_apply=max",
     {"e", "s"},
     1,
     0,
     NULL},
    /* a batch that is looked up in, with a whole window beside the place */
    {"x = f32[10,6,3] parameter(0)\n i = s32[10,4,1] parameter(1)\n e = f32[10,6,3] negate(x)\n"
     "g = f32[10,4,3] gather(e, i), offset_dims={2}, collapsed_slice_dims={1}, start_index_map={1}, "
     "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,1,3}\n"
     "low = f32[] constant(-inf)\n ROOT r = f32[10] reduce(g, low), dimensions={1,2}, to_apply=max",
     {"e"},
     1,
     0,
     NULL},
    /* a batch that is scattered to; its indices have it elsewhere */
    {"x = f32[6,9] parameter(0)\n i = s32[4,9,1] parameter(1)\n u = f32[4,9] parameter(2)\n e = f32[6,9] negate(x)\n"
     "f = f32[4,9] abs(u)\n"
     "s = f32[6,9] scatter(e, i, f), update_window_dims={}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, input_batching_dims={1}, scatter_indices_batching_dims={1}, "
     "index_vector_dim=2, to_apply=add\n"
     "zero = f32[] constant(0)\n ROOT r = f32[9] reduce(s, zero), dimensions={0}, to_apply=max",
     {"e", "s"},
     1,
     0,
     NULL},
    /* many updates of few places: the array goes from part to part, and some updates are left for the end */
    {"x = f32[11,8] parameter(0)\n i = s32[11,1] parameter(1)\n start = f32[2,8] parameter(2)\n"
     "e = f32[11,8] sort(x), dimensions={1}, to_apply=less\n two = f32[] constant(2)\n"
     "twos = f32[2,8] broadcast(two), dimensions={}\n begin = f32[2,8] add(start, twos)\n"
     "ROOT s = f32[2,8] scatter(begin, i, e), update_window_dims={1}, inserted_window_dims={0}, "
     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
     {"e"},
     1,
     0,
     NULL},
    /* the gradient of a pooling whose windows lie side by side */
    {"x = f32[2,12,4,3] parameter(0)\n g = f32[2,6,2,3] parameter(1)\n zero = f32[] constant(0)\n"
     "e = f32[2,12,4,3] sine(x)\n h = f32[2,6,2,3] negate(g)\n"
     "s = f32[2,12,4,3] select-and-scatter(e, h, zero), window={size=1x2x2x1 stride=1x2x2x1}, select=ge, scatter=add\n"
     "y = f32[2,12,4,3] multiply(s, e)\n ROOT r = f32[2,3] reduce(y, zero), dimensions={1,2}, to_apply=max",
     {"e", "s", "y"},
     1,
     0,
     "ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }\n"},
    /* a gradient by weights sums over the batch */
    {"x = f32[6,5,5,2] parameter(0)\n g = f32[6,5,5,3] parameter(1)\n e = f32[6,5,5,2] sine(x)\n"
     "h = f32[6,5,5,3] cosine(g)\n"
     "ROOT r = f32[3,3,2,3] convolution(e, h), window={size=5x5 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf",
     {"e", "h"},
     1,
     1e-5,
     NULL},
    /* groups of features, two convolutions deep, and one feature a group */
    {"x = f32[1,6,6,8] parameter(0)\n k = f32[3,3,2,24] parameter(1)\n l = f32[3,3,6,8] parameter(2)\n"
     "d = f32[2,2,1,8] parameter(3)\n"
     "cv = f32[1,6,6,24] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
     "feature_group_count=4\n act = f32[1,6,6,24] abs(cv)\n"
     "cw = f32[1,6,6,8] convolution(act, l), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, "
     "feature_group_count=4\n"
     "ROOT r = f32[1,6,6,8] convolution(cw, d), window={size=2x2 pad=1_0x1_0}, dim_labels=b01f_01io->b01f, "
     "feature_group_count=8",
     {"cv", "act"},
     1,
     1e-5,
     NULL},
    /* transposed convolutions, of windows that are larger and smaller than the step, with what comes after by rows */
    {"x = f32[1,12,3,2] parameter(0)\n k = f32[3,3,2,4] parameter(1)\n l = f32[3,1,4,1] parameter(2)\n"
     "cv = f32[1,24,3,4] convolution(x, k), window={size=3x3 pad=2_1x1_1 lhs_dilate=2x1}, dim_labels=b01f_01io->b01f\n"
     "act = f32[1,24,3,4] abs(cv)\n"
     "ROOT r = f32[1,24,3,1] convolution(act, l), window={size=3x1 pad=1_1x0_0}, dim_labels=b01f_01io->b01f",
     {"cv", "act"},
     1,
     1e-5,
     NULL},
    {"x = f32[1,12,3,2] parameter(0)\n k = f32[2,3,2,4] parameter(1)\n l = f32[4,1,4,1] parameter(2)\n"
     "e = f32[1,12,3,2] negate(x)\n"
     "cv = f32[1,36,3,4] convolution(e, k), window={size=2x3 pad=1_2x1_1 lhs_dilate=3x1}, dim_labels=b01f_01io->b01f\n"
     "act = f32[1,36,3,4] abs(cv)\n"
     "ROOT r = f32[1,72,3,1] convolution(act, l), window={size=4x1 pad=2_2x0_0 lhs_dilate=2x1}, "
     "dim_labels=b01f_01io->b01f",
     {"cv", "act"},
     1,
     1e-5,
     NULL},
    /* the gradient of an average: windows over what is dilated by zeros */
    {"x = f32[24,3] parameter(0)\n zero = f32[] constant(0.5)\n e = f32[24,3] negate(x)\n"
     "s = f32[48,3] reduce-window(e, zero), window={size=3x1 pad=1_2x0_0 lhs_dilate=2x1}, to_apply=add\n"
     "n = f32[48,3] sort(s), dimensions={1}, to_apply=less\n ROOT r = f32[48] reduce(n, zero), dimensions={1}, "
     "to_apply=max",
     {"s", "n"},
     1,
     0,
     NULL},
    /* padded along the cut, with something and with less than nothing, then pooled back */
    {"x = f32[20,3] parameter(0)\n zero = f32[] constant(0)\n one = f32[] constant(1)\n"
     "e = f32[20,3] sort(x), dimensions={1}, to_apply=less\n p = f32[22,3] pad(e, one), padding=1_1x0_0\n"
     "q = f32[22,3] sine(p)\n w = f32[20,3] reduce-window(q, zero), window={size=3x1}, to_apply=add\n"
     "n = f32[20,3] sort(w), dimensions={1}, to_apply=less\n ROOT r = f32[20] reduce(n, zero), dimensions={1}, "
     "to_apply=max",
     {"e", "q", "n"},
     1,
     0,
     NULL},
    {"x = f32[23,3] parameter(0)\n zero = f32[] constant(0)\n one = f32[] constant(1)\n"
     "e = f32[23,3] sort(x), dimensions={1}, to_apply=less\n p = f32[24,3] pad(e, one), padding=-1_2x0_0\n"
     "n = f32[24,3] sort(p), dimensions={1}, to_apply=less\n ROOT r = f32[24] reduce(n, zero), dimensions={1}, "
     "to_apply=max",
     {"n", "p"},
     1,
     0,
     NULL},
    /* differences of neighbours: slices that begin and end elsewhere, and one of every third */
    {"x = f32[26,3] parameter(0)\n zero = f32[] constant(0)\n e = f32[26,3] sort(x), dimensions={1}, to_apply=less\n"
     "a = f32[24,3] slice(e), slice={[0:24], [0:3]}\n b = f32[24,3] slice(e), slice={[2:26], [0:3]}\n"
     "d = f32[24,3] subtract(b, a)\n n = f32[24,3] sort(d), dimensions={1}, to_apply=less\n"
     "t = f32[8,3] slice(n), slice={[1:24:3], [0:3]}\n"
     "ROOT r = f32[8] reduce(t, zero), dimensions={1}, to_apply=max",
     {"e", "n", "d"},
     1,
     0,
     NULL},
    /* joined along the cut: a border before and two after */
    {"x = f32[20,3] parameter(0)\n b = f32[1,3] parameter(1)\n c = f32[2,3] parameter(2)\n zero = f32[] constant(0)\n"
     "e = f32[20,3] sort(x), dimensions={1}, to_apply=less\n j = f32[23,3] concatenate(b, e, c), dimensions={0}\n"
     "s = f32[23,3] sine(j)\n w = f32[20,3] reduce-window(s, zero), window={size=4x1}, to_apply=add\n"
     "n = f32[20,3] sort(w), dimensions={1}, to_apply=less\n ROOT r = f32[20] reduce(n, zero), dimensions={1}, "
     "to_apply=max",
     {"e", "s", "n"},
     1,
     0,
     NULL},
    /* of two arrays that are sorted together one is wanted wider than the other */
    {"x = f32[24,3] parameter(0)\n zero = f32[] constant(0)\n e = f32[24,3] negate(x)\n"
     "i = s32[24,3] iota(), iota_dimension=0\n"
     "s = (f32[24,3], s32[24,3]) sort(e, i), dimensions={1}, is_stable=true, to_apply=less2\n"
     "v = f32[24,3] get-tuple-element(s), index=0\n n = s32[24,3] get-tuple-element(s), index=1\n"
     "w = f32[24,3] reduce-window(v, zero), window={size=3x1 pad=1_1x0_0}, to_apply=add\n f = f32[24,3] convert(n)\n"
     "m = f32[24,3] multiply(w, f)\n o = f32[24,3] sort(m), dimensions={1}, to_apply=less\n"
     "ROOT r = f32[24] reduce(o, zero), dimensions={1}, to_apply=max",
     {"e", "m", "o"},
     1,
     0,
     NULL},
    /* two halves that are there */
    {"x = f32[7,3] parameter(0)\n y = f32[9,3] parameter(1)\n zero = f32[] constant(0)\n"
     "j = f32[16,3] concatenate(x, y), dimensions={0}\n n = f32[16,3] sort(j), dimensions={1}, to_apply=less\n"
     "ROOT r = f32[16] reduce(n, zero), dimensions={1}, to_apply=max",
     {"n"},
     1,
     0,
     NULL},
    /* what windows widen is wanted by others as well */
    {"x = f32[1,16,5,2] parameter(0)\n k = f32[3,3,2,4] parameter(1)\n l = f32[3,3,4,1] parameter(2)\n"
     "cv = f32[1,16,5,4] convolution(x, k), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
     "act = f32[1,16,5,4] abs(cv)\n e = f32[1,16,5,4] exponential(act)\n"
     "y = f32[1,16,5,1] convolution(e, l), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n"
     "low = f32[] constant(0)\n m = f32[1,5,4] reduce(e, low), dimensions={1}, to_apply=max\n"
     "t = f32[1,16,5,4] reverse(act), dimensions={1}\n n = f32[1,5,4] reduce(t, low), dimensions={1}, to_apply=max\n"
     "z = f32[1,5,4] multiply(m, n)\n zz = f32[1,5] reduce(z, low), dimensions={2}, to_apply=max\n"
     "zb = f32[1,16,5,1] broadcast(zz), dimensions={0,2}\n ROOT r = f32[1,16,5,1] add(y, zb)",
     {"e", "cv", "act"},
     1,
     1e-5,
     NULL},
    /* inside the body of a loop */
    {"x = f32[10,6] parameter(0)\n zero = s32[] constant(0)\n t = (s32[], f32[10,6]) tuple(zero, x)\n"
     "w = (s32[], f32[10,6]) while(t), condition=cond, body=body\n ROOT r = f32[10,6] get-tuple-element(w), index=1",
     {"y"},
     1,
     0,
     "cond { s = (s32[], f32[10,6]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(2)\n"
     "ROOT c = pred[] compare(i, n), direction=LT }\n"
     "body { s = (s32[], f32[10,6]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n"
     "j = s32[] add(i, one)\n v = f32[10,6] get-tuple-element(s), index=1\n"
     "y = f32[10,6] sort(v), dimensions={1}, to_apply=less\n z = f32[10,6] negate(y)\n"
     "ROOT t = (s32[], f32[10,6]) tuple(j, z) }\n"},
};

/* What is not independent along any dimension stays whole. */
static const Case refused[] = {
    {"x = f32[12,6] parameter(0)\n e = f32[12,6] negate(x)\n f = f32[12,6] abs(e)\n ROOT r = f32[12,6] reverse(f), "
     "dimensions={0,1}",
     {"f"},
     0,
     0,
     NULL},
    {"x = f32[12] parameter(0)\n e = f32[12] negate(x)\n s = f32[12] sort(e), dimensions={0}, to_apply=less\n"
     "ROOT r = f32[2] slice(s), slice={[3:5]}",
     {"s"},
     0,
     0,
     NULL},
    {"x = f32[12,6] parameter(0)\n e = f32[12,6] negate(x)\n c = f32[12,6] custom-call(e), custom_call_target=\"f\"\n"
     "ROOT r = f32[12,6] abs(c)",
     {"c"},
     0,
     0,
     NULL},
};

static void splits_compute_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) check_case(&cases[i], HLO_SPLIT_SAVING);
}

static void splits_that_make_values_again_compute_the_same(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) check_case(&cases[i], HLO_SPLIT_AGAIN);
}

/* How many candidates leave |name| to the sum alone: then that can be split as well. */
static int candidates_that_leave(const Case *test, HloSplitScope scope, const char *name) {
  Run run = {.arena = arena_create(), .scope = scope};
  int found = 0;
  read_case(&run, test);
  find_splits(&run, test);
  for (int64_t i = 0; i < run.splits.count; i++) {
    Run again = {.arena = run.arena, .scope = scope};
    read_case(&again, test);
    find_splits(&again, test);
    hlo_apply_split(again.module, &again.splits.data[i], 4, again.arena);
    const HloInstructionArray *list = &again.module->entry->instructions;
    for (int64_t k = 0; k < list->count; k++) {
      const HloInstruction *value = list->data[k];
      if (!sv_equal_cstring(value->name, name)) continue;
      found += value->user_count == 1 && value->users[0]->opcode == HLO_REDUCE;
    }
  }
  arena_destroy(run.arena);
  return found;
}

/* Rows of what is divided by the sums of columns: these need all of it before. */
static void what_a_sum_is_made_of_is_made_again(void **state) {
  (void)state;
  const Case test = {
      "p = f32[12,10] parameter(0)\n zero = f32[] constant(0)\n powers = f32[12,10] exponential(p)\n"
      "s = f32[10] reduce(powers, zero), dimensions={0}, to_apply=add\n b = f32[12,10] broadcast(s), dimensions={1}\n"
      "parts = f32[12,10] divide(powers, b)\n ROOT r = f32[12] reduce(parts, zero), dimensions={1}, to_apply=max",
      {"powers", "parts"},
      1,
      1e-6,
      NULL};
  check_case(&test, HLO_SPLIT_AGAIN);
  assert_int_equal(candidates_that_leave(&test, HLO_SPLIT_ALL, "powers"), 0);
  assert_true(candidates_that_leave(&test, HLO_SPLIT_AGAIN, "powers") > 0);
}

/* The greatest of a row would be no longer, if its last bit were another one the second time. */
static void what_is_compared_with_itself_is_not_made_again(void **state) {
  (void)state;
  static const char *const thresholds[] = {"m", "n"}; /* of the rows, of something else */
  for (int i = 0; i < 2; i++) {
    Case test = {.large = {"scores", "parts"}};
    Arena *arena = arena_create();
    test.instructions = arena_printf(
        arena,
        "p = f32[12,4] parameter(0)\n w = f32[4,10] parameter(1)\n n = f32[10] parameter(2)\n zero = f32[] "
        "constant(0)\n"
        "scores = f32[12,10] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
        "m = f32[10] reduce(scores, zero), dimensions={0}, to_apply=max\n"
        "b = f32[12,10] broadcast(%s), dimensions={1}\n k = f32[12,10] broadcast(m), dimensions={1}\n"
        "is_most = pred[12,10] compare(scores, b), direction=GE\n parts = f32[12,10] select(is_most, scores, k)\n"
        "ROOT r = f32[12] reduce(parts, zero), dimensions={1}, to_apply=add",
        thresholds[i]);
    assert_int_equal(candidates_that_leave(&test, HLO_SPLIT_AGAIN, "scores") > 0, i == 1);
    arena_destroy(arena);
  }
}

/* There is no array of zeros then, and no addition after the loop. */
static void a_sum_of_parts_begins_with_the_residual(void **state) {
  (void)state;
  const Case test = {
      "x = f32[4,6] parameter(0)\n w = f32[6,24] parameter(1)\n v = f32[24,6] parameter(2)\n"
      "h = f32[4,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "t = f32[4,24] tanh(h)\n"
      "d = f32[4,6] dot(t, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "n = f32[4,6] negate(x)\n ROOT r = f32[4,6] add(d, n)",
      {"h", "t"},
      1,
      1e-5,
      NULL};
  Run run = {.arena = arena_create()};
  read_case(&run, &test);
  find_splits(&run, &test);
  int64_t folds = 0;
  for (int64_t i = 0; i < run.splits.count; i++) {
    Run again = {.arena = run.arena};
    read_case(&again, &test);
    find_splits(&again, &test);
    const HloSplit *split = &again.splits.data[i];
    if (split->members[split->member_count - 1].dimension != HLO_SPLIT_FOLDED) continue;
    folds++;
    hlo_apply_split(again.module, split, 4, again.arena);
    const char *text = text_of(again.module, again.arena), *entry = strstr(text, "ENTRY");
    if (strstr(entry, " add(") != NULL || strstr(entry, "f32[4,6]{1,0} broadcast(") != NULL) fail_msg("%s", text);
  }
  assert_true(folds > 0);
  arena_destroy(run.arena);
}

static void splits_are_not_found_where_places_depend_on_one_another(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) check_case(&refused[i], HLO_SPLIT_SAVING);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(splits_compute_the_same),
      cmocka_unit_test(splits_that_make_values_again_compute_the_same),
      cmocka_unit_test(what_a_sum_is_made_of_is_made_again),
      cmocka_unit_test(what_is_compared_with_itself_is_not_made_again),
      cmocka_unit_test(a_sum_of_parts_begins_with_the_residual),
      cmocka_unit_test(splits_are_not_found_where_places_depend_on_one_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
