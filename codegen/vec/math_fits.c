/* Made by scripts/fit_math.py, which says what each of them approximates; from the highest power down. */
#include "codegen/vec/math_fits.h"

/* (exp r - 1 - r) / r², |r| <= ln 2 / 2: error 2^-28.2 */
const MathFit fit_exp_single = {
    5, {0x1.6d99f8acc5f17p-10, 0x1.123e462d711c2p-7, 0x1.55547b9eb8ebep-5, 0x1.55548a193f3dcp-3, 0x1.00000045ed590p-1}};

/* the same, |r| <= ln 2 / 32: error 2^-29.2 */
const MathFit fit_exp_sixteenth = {2, {0x1.55572155d174fp-3, 0x1.0002239f9033bp-1}};

/* the same: error 2^-56.2 */
const MathFit fit_exp_sixteenth_double = {
    5, {0x1.6c1843a9694b9p-10, 0x1.11123d79b0b21p-7, 0x1.555555547c73ap-5, 0x1.555555548ae90p-3, 0x1.0000000000004p-1}};

/* (exp r - 1 - r) / r², |r| <= ln 2 / 2: error 2^-34.2 */
const MathFit fit_exp_middle = {6,
                                {0x1.a1895e444e64bp-13, 0x1.6d994d085c777p-10, 0x1.11109f75b465dp-7,
                                 0x1.55547c5f733e8p-5, 0x1.5555557fd428ap-3, 0x1.00000045909a6p-1}};

/* the same: error 2^-57.9 */
const MathFit fit_exp_double = {
    10,
    {0x1.af6def99111d2p-26, 0x1.28b10891a3bcap-22, 0x1.71ddeed897efap-19, 0x1.a01995a955ec3p-16, 0x1.a01a01b411422p-13,
     0x1.6c16c1860c890p-10, 0x1.111111110eaaap-7, 0x1.555555554fdf3p-5, 0x1.555555555555cp-3, 0x1.000000000000cp-1}};

/* (log(1 + f) - f + f²/2) / f³, 3/4 <= 1 + f <= 3/2: error 2^-29.7 */
const MathFit fit_log_single = {
    9,
    {0x1.2e377a3e4e354p-5, -0x1.7192c1a46db94p-4, 0x1.de64499fc9b0ep-4, -0x1.04e7f63c7a982p-3, 0x1.2477f777c50c6p-3,
     -0x1.55176f8fddcc4p-3, 0x1.999642f215e1ap-3, -0x1.000071e1f35b4p-2, 0x1.55555c5e0dfefp-2}};

/* (log(1 + r) - r) / r², -0.0174 <= r <= 1/32: error 2^-26.4 */
const MathFit fit_log_piece = {3, {-0x1.f43b7e7eb06fbp-3, 0x1.5561bedf4dad4p-2, -0x1.00002f0a07626p-1}};

/* the same, -0.0372 <= r <= 1/16: error 2^-39.0 */
const MathFit fit_log_piece_middle = {6,
                                      {0x1.0fe247f06b458p-3, -0x1.5593279e9a755p-3, 0x1.99a520a89d28bp-3,
                                       -0x1.0000059122feep-2, 0x1.5555549724dfap-2, -0x1.ffffffff3dc18p-2}};

/* the same: error 2^-59.1 */
const MathFit fit_log_piece_double = {
    10,
    {0x1.49843d2966717p-4, -0x1.9914cb93e51a0p-4, 0x1.c73f8944bce14p-4, -0x1.00008a705a2f3p-3, 0x1.2492444ac4123p-3,
     -0x1.55555525d7211p-3, 0x1.9999999a21ce3p-3, -0x1.0000000002c2cp-2, 0x1.555555555552dp-2, -0x1.fffffffffffffp-2}};

/* (log(1 + r) - r + r²/2 - r³/3) / r⁴, -0.0372 <= r <= 1/16: error 2^-65.7 */
const MathFit fit_log_piece_pair = {
    9,
    {-0x1.2d0a2426441f8p-4, 0x1.73ca1152a8da2p-4, -0x1.99b95b9f2f7b0p-4, 0x1.c71d79c4bdb06p-4, -0x1.fffff7bbc4042p-4,
     0x1.249248fb4b7e6p-3, -0x1.55555555c12dep-3, 0x1.999999999d5a0p-3, -0x1.fffffffffffbep-3}};

/* (log((1 + s) / (1 - s)) - 2s) / s³ in s²: error 2^-44.9 */
const MathFit fit_log_middle = {
    5, {0x1.9121bb51a0838p-3, 0x1.c62a1f8778661p-3, 0x1.24941556fb569p-2, 0x1.9999969f50b5bp-2, 0x1.555555562327bp-1}};

/* the same: error 2^-59.4 */
const MathFit fit_log_double = {7,
                                {0x1.2f0d2d34cc937p-3, 0x1.39a0e09950f99p-3, 0x1.7466486191975p-3, 0x1.c71c51d473cc4p-3,
                                 0x1.249249423e2a7p-2, 0x1.999999997f6f5p-2, 0x1.5555555555594p-1}};

/* the same without its first term 2/3, over s²: error 2^-66.8 */
const MathFit fit_log_pair = {8,
                              {0x1.eb389e276e5a2p-4, 0x1.de2e34d74afd7p-4, 0x1.1120da6fd476ep-3, 0x1.3b1361a16d036p-3,
                               0x1.745d1836f9f31p-3, 0x1.c71c71c575088p-3, 0x1.24924924930a8p-2, 0x1.9999999999995p-2}};

/* (sin r - r) / r³ in r², |r| <= π/4: error 2^-57.3 */
const MathFit fit_sin_double = {
    7,
    {-0x1.aaa4130ea1ae3p-41, 0x1.61208ff841eb7p-33, -0x1.ae645293554b1p-26, 0x1.71de3a5334fb7p-19,
     -0x1.a01a01a018aa1p-13, 0x1.111111111110bp-7, -0x1.5555555555555p-3}};

/* the same: error 2^-37.5 */
const MathFit fit_sin_middle = {
    4, {0x1.6cd49554c89c5p-19, -0x1.a00f8a7ad0e52p-13, 0x1.11110877e610cp-7, -0x1.5555554c7fc83p-3}};

/* (cos r - 1 + r²/2) / r⁴ in r²: error 2^-43.1 */
const MathFit fit_cos_middle = {
    4, {-0x1.2425562bdb1e4p-22, 0x1.a0110196761ebp-16, -0x1.6c16b86247cbcp-10, 0x1.5555554f10999p-5}};

/* the same: error 2^-60.9 */
const MathFit fit_cos_double = {6,
                                {-0x1.8faad76550594p-37, 0x1.1ee9e3fbda28bp-29, -0x1.27e4f7fd17db3p-22,
                                 0x1.a01a019c9dd84p-16, -0x1.6c16c16c15095p-10, 0x1.555555555554bp-5}};

/* (atan t - t) / t³ in t², |t| <= tan(π/8): error 2^-35.3 */
const MathFit fit_atan_middle = {6,
                                 {0x1.84335a46c8390p-5, -0x1.5b12ebe6e3b33p-4, 0x1.c45e2bd90d3f8p-4,
                                  -0x1.247e95b4a0b14p-3, 0x1.999915c5b722ap-3, -0x1.555554c0c16a4p-2}};

/* the same: error 2^-57.2 */
const MathFit fit_atan_double = {
    11,
    {-0x1.2512c971d76fbp-6, 0x1.37ab4c8d02863p-5, -0x1.9cc10055bd4ddp-5, 0x1.df0b1494c788fp-5, -0x1.10eb68604c482p-4,
     0x1.3b111176fe1cap-4, -0x1.745cf8634d79ap-4, 0x1.c71c70e158ad8p-4, -0x1.249249229f864p-3, 0x1.99999999955c9p-3,
     -0x1.555555555553bp-2}};

/* (asin s - s) / s³ in s², |s| <= 1/2: error 2^-35.7 */
const MathFit fit_asin_middle = {
    7,
    {0x1.1b8e491ca7597p-5, 0x1.edda1081e6c00p-8, 0x1.92fe6dc4a6cbdp-6, 0x1.ed61c01a2f861p-6, 0x1.6dda9b14a8c05p-5,
     0x1.3332aa553d3b0p-4, 0x1.555556067e4c0p-3}};

/* the same: error 2^-58.4 */
const MathFit fit_asin_double = {
    13,
    {0x1.0acf32b2ea60fp-5, -0x1.5681ab8819207p-6, 0x1.6292a56b7de4fp-6, 0x1.e953605496900p-9, 0x1.6104a010d15fbp-7,
     0x1.758f3d10754acp-7, 0x1.ca1e69ee867a4p-7, 0x1.1c49fbd219d6bp-6, 0x1.6e8bde4b1cf14p-6, 0x1.f1c71a9983105p-6,
     0x1.6db6db72092e3p-5, 0x1.333333332e190p-4, 0x1.5555555555577p-3}};

/* (tanh t - t) / t³ in t², |t| <= half a step: error 2^-28.3 */
const MathFit fit_tanh_single = {3, {-0x1.a53a20d72ed97p-5, 0x1.10e0ddb718cd0p-3, -0x1.555515628e941p-2}};

/* (tanh x - x) / x³ in x², |x| <= 0.55: error 2^-58.4 */
const MathFit fit_tanh_double = {
    11,
    {-0x1.470244c6e2158p-16, 0x1.5d6dfb85ab9d0p-14, -0x1.e96d5da052e7ep-13, 0x1.34836ba435cf3p-11,
     -0x1.7d8fca7a789a7p-10, 0x1.d6d29ac26f32fp-9, -0x1.226e2f0e2cc2cp-7, 0x1.664f485933482p-6, -0x1.ba1ba1b97c223p-5,
     0x1.111111111077cp-3, -0x1.555555555554fp-2}};

/* log(erfc -x) / x - 1, -3.95 <= x < 0: error 2^-27.8 */
const MathFit fit_erf_single = {
    9,
    {-0x1.3a1be4d344bb1p-17, -0x1.f14332706df1ap-14, -0x1.4d738084c0d4cp-11, -0x1.b6770bccae4f3p-10,
     -0x1.5b8478dca8c78p-13, 0x1.39c28d0560634p-6, 0x1.a4f9b0cccd04bp-4, -0x1.45f2fbb242d2dp-1, 0x1.06eba8a009555p-3}};

/* erf x / x - 1 in x², |x| <= 1: error 2^-55.9 */
const MathFit fit_erf_near_double = {
    12,
    {-0x1.acbabf57ef501p-31, 0x1.d777c51831224p-27, -0x1.5c14fc0842667p-23, 0x1.b982295083cfcp-20,
     -0x1.f4ca8c11f4161p-17, 0x1.f9a2bee1b1f05p-14, -0x1.c02db06ca928fp-11, 0x1.565bccfa6f4bep-8, -0x1.b82ce31204d17p-6,
     0x1.ce2f21a040fbfp-4, -0x1.812746b0379c1p-2, 0x1.06eba8214db68p-3}};

/* erfc(x) exp(x²) in (x - 2) / (x + 2), 1 <= x <= 6: error 2^-57.9 */
const MathFit fit_erf_far_double = {
    15,
    {0x1.24b0a4025a20fp-19, 0x1.e4be541979d24p-21, -0x1.d077fab6a2eb4p-17, -0x1.cd25de3d9b07dp-16,
     0x1.cdf0a582d896cp-16, 0x1.6da71d6ea2281p-13, 0x1.6d5cec0cac6d2p-15, -0x1.016b5c47bb4c9p-10,
     -0x1.bc25a3a09b276p-11, 0x1.ca95ed548bd05p-8, 0x1.e94715972ec5ap-9, -0x1.437f0b68c109fp-4, 0x1.eeea7dc8a78bep-3,
     -0x1.b57034efd3f72p-2, 0x1.058671b52c776p-2}};

/* erfc(x) exp(x²) in (x - 3) / (x + 3), 0 <= x <= 10.07: error 2^-29.2 */
const MathFit fit_erfc_single = {
    11,
    {0x1.db29bc6c9e902p-15, 0x1.fbac112c50b56p-16, -0x1.37ad71f844d8ep-11, 0x1.76b823bda7065p-11, 0x1.17bf2c7b0bd44p-8,
     -0x1.8fabb4e4a3c7bp-6, 0x1.258b2e063c506p-4, -0x1.336feb10dd890p-3, 0x1.f6ff1f0e0b52bp-3, -0x1.4e102bcd95c7ap-2,
     0x1.6e9827d66c001p-3}};

/* erfc(x) exp(x²) in (x - 5) / (x + 5), 0.5 <= x <= 27.3: error 2^-54.1 */
const MathFit fit_erfc_double = {
    22, {0x1.b31f60ff6c8bfp-28,  -0x1.2da9597790070p-28, -0x1.12f49b0737038p-24, 0x1.7bb4f44d8bfc0p-23,
         0x1.1d0df04426b06p-23,  -0x1.211a8e665c3acp-19, 0x1.a85e60995e8ffp-18,  -0x1.039e8e1b7f370p-19,
         -0x1.0eb70013f0031p-14, 0x1.7855db1343b5cp-12,  -0x1.4e3d6eb34e606p-10, 0x1.d4ef7b630319ap-9,
         -0x1.16b90a45eec9ap-7,  0x1.226c859e6b759p-6,   -0x1.0e82bbd2e6d94p-5,  0x1.c827e05e78408p-5,
         -0x1.5f20e681671d8p-4,  0x1.f07c90749fb03p-4,   -0x1.43c31479bdab0p-3,  0x1.86a336bff7475p-3,
         -0x1.b4e541bdca308p-3,  0x1.c57239e943d1ap-4}};

/* cube root of 1 <= m <= 2: error 2^-16.4 */
const MathFit fit_cbrt = {
    5,
    {-0x1.50ad875e0f765p-7, 0x1.588d7ad208d58p-4, -0x1.2f602b980cc05p-2, 0x1.6d8ece8de1628p-1, 0x1.0453d54166750p-1}};

/* sin r / r - 1 in r² - center, |r| <= π/2: error 2^-26.7 with the rounding of the terms */
const MathCenteredFit fit_sin_half_turn = {0x1.4000000000000p-1,
                                           {5,
                                            {0x1.5d38a20000000p-19, -0x1.91c00e0000000p-13, 0x1.0516340000000p-7,
                                             -0x1.4078840000000p-3, -0x1.9d87b00000000p-4}}};

/* 2^(k/16) */
const MathTable table_power = {{0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
                                0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
                                0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
                                0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0,
                                0x1.ea4afa2a490dap+0}};

/* what these lack as f64 */
const MathTable table_power_low = {{0x0.0p+0, 0x1.8a62e4adc610bp-54, -0x1.19041b9d78a76p-55, 0x1.9b07eb6c70573p-54,
                                    0x1.6f46ad23182e4p-55, 0x1.ada0911f09ebcp-55, 0x1.d4397afec42e2p-56,
                                    0x1.6324c054647adp-54, -0x1.bdd3413b26456p-54, -0x1.41577ee04992fp-55,
                                    0x1.6e9f156864b27p-54, 0x1.c7c46b071f2bep-56, 0x1.7a1cd345dcc81p-54,
                                    0x1.11065895048ddp-55, 0x1.2ed02d75b3707p-55, -0x1.e9c23179c2893p-54}};

/* c, about 1/x where x between 3/4 and 3/2 has the first four digits k: c·x - 1 is exact */
const MathTable table_log_factor_double = {
    {0x1.0000000000000p+0, 0x1.d000000000000p-1, 0x1.c000000000000p-1, 0x1.a000000000000p-1, 0x1.9000000000000p-1,
     0x1.8000000000000p-1, 0x1.7000000000000p-1, 0x1.6000000000000p-1, 0x1.5000000000000p+0, 0x1.4000000000000p+0,
     0x1.3800000000000p+0, 0x1.2800000000000p+0, 0x1.2000000000000p+0, 0x1.1800000000000p+0, 0x1.1000000000000p+0,
     0x1.0000000000000p+0}};

/* multiples of 2^-42 next to -log c */
const MathTable table_log_high_double = {{0x0.0p+0, 0x1.9335e5d594000p-4, 0x1.1178e8227e000p-3, 0x1.a93ed3c8ae000p-3,
                                          0x1.f991c6cb3c000p-3, 0x1.269621134e000p-2, 0x1.522ae0738a000p-2,
                                          0x1.7fafa3bd81000p-2, -0x1.1675cababa000p-2, -0x1.c8ff7c79aa000p-3,
                                          -0x1.9525a9cf46000p-3, -0x1.29552f8200000p-3, -0x1.e27076e2b0000p-4,
                                          -0x1.6f0d28ae58000p-4, -0x1.f0a30c0118000p-5, 0x0.0p+0}};

/* what these lack */
const MathTable table_log_low_double = {{0x0.0p+0, 0x1.3115c3abd47dap-45, 0x1.1ef78ce2d07f2p-45, -0x1.8724350562169p-45,
                                         -0x1.90d04cd7cc834p-44, -0x1.1b61f10522625p-44, 0x1.ebe708164c759p-45,
                                         0x1.46fb79bf6d4cbp-44, -0x1.8380e731f55c4p-44, 0x1.7794f689f8434p-45,
                                         0x1.297137d9f158fp-44, 0x1.5b967f4471dfcp-44, 0x1.a342c2af0003cp-45,
                                         0x1.4b4641b664613p-44, 0x1.d599e83368e91p-45, 0x0.0p+0}};

/* tanh of halves */
const MathLongTable table_tanh = {{0x0.0p+0,
                                   0x1.d9353d7568af3p-2,
                                   0x1.85efab514f394p-1,
                                   0x1.cf6f9786df577p-1,
                                   0x1.ed9505e1bc3d4p-1,
                                   0x1.f9258260a71c2p-1,
                                   0x1.fd77d111a0b00p-1,
                                   0x1.ff112c63a9077p-1,
                                   0x1.ffa81708a0b42p-1,
                                   0x1.ffdfa72153983p-1,
                                   0x1.fff419668df11p-1,
                                   0x1.fffb9f2fc1e91p-1,
                                   0x1.fffe63abe253cp-1,
                                   0x1.ffff684fec9b9p-1,
                                   0x1.ffffc832750f2p-1,
                                   0x1.ffffeb78a3c73p-1,
                                   0x1.fffff872a91f8p-1,
                                   0x1.fffffd38c39f0p-1,
                                   0x1.fffffefa59d78p-1,
                                   0x1.ffffff9fbea41p-1,
                                   0x1.ffffffdc96f35p-1,
                                   0x1.fffffff2f9279p-1,
                                   0x1.fffffffb352ddp-1,
                                   0x1.fffffffe3cad8p-1,
                                   0x1.ffffffff59f7cp-1,
                                   0x1.ffffffffc2eb9p-1,
                                   0x1.ffffffffe987bp-1,
                                   0x1.fffffffff7bbdp-1,
                                   0x1.fffffffffcf58p-1,
                                   0x1.fffffffffee1ap-1,
                                   0x1.ffffffffff96ap-1,
                                   0x1.ffffffffffd94p-1}};

/* c, about 1/x where x between 3/4 and 3/2 has the first five digits k */
const MathLongTable table_log_factor = {
    {0x1.0000000000000p+0, 0x1.e800000000000p-1, 0x1.dc00000000000p-1, 0x1.cc00000000000p-1, 0x1.c000000000000p-1,
     0x1.b400000000000p-1, 0x1.a800000000000p-1, 0x1.a000000000000p-1, 0x1.9400000000000p-1, 0x1.8c00000000000p-1,
     0x1.8000000000000p-1, 0x1.7800000000000p-1, 0x1.7000000000000p-1, 0x1.6800000000000p-1, 0x1.6000000000000p-1,
     0x1.5800000000000p-1, 0x1.5000000000000p+0, 0x1.4c00000000000p+0, 0x1.4400000000000p+0, 0x1.4000000000000p+0,
     0x1.3800000000000p+0, 0x1.3400000000000p+0, 0x1.2c00000000000p+0, 0x1.2800000000000p+0, 0x1.2000000000000p+0,
     0x1.1c00000000000p+0, 0x1.1800000000000p+0, 0x1.1400000000000p+0, 0x1.1000000000000p+0, 0x1.0c00000000000p+0,
     0x1.0800000000000p+0, 0x1.0000000000000p+0}};

/* multiples of 2^-16 next to -log c, more by the upper part of ln 2 where x is below 1 */
const MathLongTable table_log_high = {{0x0.0p+0,
                                       0x1.8940000000000p-5,
                                       0x1.2aa0000000000p-4,
                                       0x1.b6b0000000000p-4,
                                       0x1.1178000000000p-3,
                                       0x1.4910000000000p-3,
                                       0x1.8240000000000p-3,
                                       0x1.a940000000000p-3,
                                       0x1.e530000000000p-3,
                                       0x1.0714000000000p-2,
                                       0x1.2698000000000p-2,
                                       0x1.3c24000000000p-2,
                                       0x1.522c000000000p-2,
                                       0x1.68ac000000000p-2,
                                       0x1.7fb0000000000p-2,
                                       0x1.973c000000000p-2,
                                       0x1.af4c000000000p-2,
                                       0x1.bb8c000000000p-2,
                                       0x1.d488000000000p-2,
                                       0x1.e140000000000p-2,
                                       0x1.fb2c000000000p-2,
                                       0x1.0432000000000p-1,
                                       0x1.11ac000000000p-1,
                                       0x1.188a000000000p-1,
                                       0x1.2692000000000p-1,
                                       0x1.2dbc000000000p-1,
                                       0x1.34fe000000000p-1,
                                       0x1.3c5c000000000p-1,
                                       0x1.43d6000000000p-1,
                                       0x1.4b6c000000000p-1,
                                       0x1.531e000000000p-1,
                                       0x1.62e0000000000p-1}};

/* what these lack, with the lower part */
const MathLongTable table_log_low = {{0x0.0p+0,
                                      0x1.54293f66866a3p-18,
                                      0x1.2911c5e922ea3p-22,
                                      -0x1.bb92952721005p-19,
                                      0x1.d044fc8f7bc67p-20,
                                      0x1.ec199dab06f2bp-18,
                                      -0x1.f4d572e1f2246p-18,
                                      -0x1.2c375261c90d4p-19,
                                      0x1.dffce2024244fp-20,
                                      -0x1.e7eca9e76324fp-20,
                                      -0x1.deecb246d87c4p-18,
                                      0x1.277333183b54bp-18,
                                      -0x1.1f8c75c2831f0p-18,
                                      0x1.07d38d42834cap-19,
                                      -0x1.7109fab904864p-20,
                                      -0x1.cbceca952313ap-18,
                                      0x1.a5492337c7f19p-16,
                                      0x1.423701c639412p-15,
                                      0x1.048dbdf51a161p-15,
                                      0x1.14344e4dde53ep-15,
                                      0x1.315ef4914b89cp-15,
                                      0x1.02f9d80ef6e42p-15,
                                      0x1.c11e3ad5c3306p-16,
                                      0x1.3903c8f2dcb40p-15,
                                      0x1.0844d36e8d0b1p-15,
                                      0x1.aabd86fa9c9afp-16,
                                      0x1.22b676325a321p-15,
                                      0x1.2030daff17b6bp-15,
                                      0x1.ff97c91eaccf4p-16,
                                      0x1.eb7cb86181dcep-16,
                                      0x1.389a19e19ff66p-15,
                                      0x1.0bfbe8e800000p-15}};

/* erf: error 2^-24.4 with the rounding of the terms */
const MathPieces pieces_erf = {
    0x1.0580000000000p-2,
    6,
    {{{0x1.e0bffc0000000p-4, 0x1.4a88340000000p-4, 0x1.6e96a20000000p-8, -0x1.c0c6300000000p-5, -0x1.1605860000000p-4,
       -0x1.64bd180000000p-5, -0x1.73a4c80000000p-7, 0x1.10c2960000000p-7, 0x1.aa06c80000000p-7, 0x1.40840c0000000p-7,
       0x1.5938ea0000000p-8, 0x1.2475560000000p-9, 0x1.94fcb60000000p-11, 0x1.d3a7040000000p-13, 0x1.c7f8b00000000p-15,
       0x1.7a5e980000000p-17}},
     {{-0x1.96bf880000000p-10, 0x1.0693fa0000000p-3, 0x1.7560f60000000p-3, 0x1.2aebc80000000p-3, 0x1.fdff000000000p-5,
       -0x1.7ba9520000000p-7, -0x1.7998340000000p-5, -0x1.7c0c2c0000000p-5, -0x1.04bc100000000p-5,
       -0x1.0cd0040000000p-6, -0x1.e568620000000p-8, -0x1.7c3eaa0000000p-9, -0x1.bd8d2e0000000p-11,
       -0x1.9264640000000p-12, 0x1.64c96a0000000p-14, 0x1.7439d40000000p-19}},
     {{-0x1.80fd300000000p-2, -0x1.39d2640000000p-2, -0x1.1be3fa0000000p-3, 0x1.29c3840000000p-5, 0x1.26e43c0000000p-3,
       0x1.5512ce0000000p-3, 0x1.1019b40000000p-3, 0x1.5413ec0000000p-4, 0x1.5c88320000000p-5, 0x1.2b73520000000p-6,
       0x1.b4d3dc0000000p-8, 0x1.109dfa0000000p-9, 0x1.24b1ee0000000p-11, 0x1.0f54c40000000p-13, 0x1.b38b8e0000000p-16,
       0x1.2f4c920000000p-18}},
     {{-0x1.8f55e20000000p-18, -0x1.1470260000000p-2, -0x1.c6a2a80000000p-2, -0x1.ec35700000000p-2,
       -0x1.9fc17e0000000p-2, -0x1.20f7d80000000p-2, -0x1.5278d40000000p-3, -0x1.524eae0000000p-4,
       -0x1.22b1780000000p-5, -0x1.afe7f40000000p-7, -0x1.158a9a0000000p-8, -0x1.34fcbc0000000p-10,
       -0x1.2cf89c0000000p-12, -0x1.e1ff0c0000000p-15, -0x1.d46f140000000p-17, -0x1.1436e60000000p-19}},
     {{0x1.20dd760000000p+0, 0x1.0ea0ca0000000p+0, 0x1.bd13f40000000p-1, 0x1.413c860000000p-1, 0x1.97011a0000000p-2,
       0x1.c49d620000000p-3, 0x1.b9c9bc0000000p-4, 0x1.7a7d7e0000000p-5, 0x1.1c9c460000000p-6, 0x1.77b14a0000000p-8,
       0x1.b347f80000000p-10, 0x1.baa6fe0000000p-12, 0x1.8b1a9c0000000p-14, 0x1.358a0e0000000p-16,
       0x1.a9b3d60000000p-19, 0x1.00ef480000000p-21}},
     {{0x0.0p+0, 0x1.20c7ca0000000p-2, 0x1.0f4d9e0000000p-1, 0x1.715a120000000p-1, 0x1.b3ee7e0000000p-1,
       0x1.dbab660000000p-1, 0x1.f084040000000p-1, 0x1.fa209c0000000p-1, 0x1.fe05c20000000p-1, 0x1.ff68ec0000000p-1,
       0x1.ffd8180000000p-1, 0x1.fff6ae0000000p-1, 0x1.fffe140000000p-1, 0x1.ffffa60000000p-1, 0x1.fffff20000000p-1,
       0x1.fffffe0000000p-1}}}};

/* erfc(x) exp(x²): error 2^-24.1 with the rounding of the terms */
const MathPieces pieces_erfc = {
    0x1.4cc0000000000p-1,
    8,
    {{{-0x1.7347da0000000p-5, -0x1.15c3200000000p-7, -0x1.21d27a0000000p-10, -0x1.46b16e0000000p-12,
       -0x1.a4976c0000000p-15, -0x1.42a4340000000p-16, 0x1.06183a0000000p-17, 0x1.4f0b440000000p-17,
       -0x1.5ca5060000000p-17, -0x1.c1fd960000000p-18, 0x1.b0377c0000000p-19, 0x1.dbd3300000000p-18,
       -0x1.e7626e0000000p-19, -0x1.5164aa0000000p-18, 0x1.fb96180000000p-22, 0x1.3758140000000p-21}},
     {{0x1.2c028c0000000p-3, 0x1.477fd00000000p-6, 0x1.9ab7d00000000p-9, 0x1.9f2c320000000p-11, 0x1.a9c5ec0000000p-13,
       0x1.1e00cc0000000p-14, -0x1.7316fe0000000p-16, -0x1.1016860000000p-16, 0x1.0838fe0000000p-15,
       0x1.702a840000000p-16, -0x1.96f3280000000p-18, -0x1.83ebd20000000p-16, 0x1.e146400000000p-17,
       0x1.b5e68a0000000p-16, 0x1.490d760000000p-20, 0x1.932f1a0000000p-20}},
     {{-0x1.2e5f9e0000000p-2, -0x1.576a6a0000000p-5, -0x1.0954c60000000p-7, -0x1.066ccc0000000p-9,
       -0x1.446f580000000p-11, -0x1.d062820000000p-13, -0x1.85e3240000000p-14, -0x1.6b15620000000p-15,
       -0x1.3557120000000p-16, -0x1.3e0dfc0000000p-17, -0x1.ba802a0000000p-18, -0x1.4398de0000000p-18,
       -0x1.89103a0000000p-20, -0x1.db28680000000p-22, -0x1.0807340000000p-20, -0x1.804ca60000000p-21}},
     {{0x1.ff13ec0000000p-2, 0x1.5c8bb80000000p-4, 0x1.45ca6e0000000p-6, 0x1.82cf680000000p-8, 0x1.16ad0c0000000p-9,
       0x1.cf84840000000p-11, 0x1.b968d40000000p-12, 0x1.c37e080000000p-13, 0x1.cf8ca20000000p-14,
       0x1.0aebb20000000p-14, 0x1.64a8d20000000p-15, 0x1.01429a0000000p-15, 0x1.f0431a0000000p-17,
       0x1.d9959a0000000p-18, 0x1.0f34d60000000p-17, 0x1.7c87c00000000p-18}},
     {{-0x1.811cb00000000p-1, -0x1.47d9180000000p-3, -0x1.793c720000000p-5, -0x1.100a460000000p-6,
       -0x1.d07ac00000000p-8, -0x1.c2873e0000000p-9, -0x1.e1f6480000000p-10, -0x1.165ba60000000p-10,
       -0x1.55ee640000000p-11, -0x1.b94dba0000000p-12, -0x1.289a080000000p-12, -0x1.9c9b100000000p-13,
       -0x1.27b12e0000000p-13, -0x1.b24c860000000p-14, -0x1.45a36e0000000p-14, -0x1.f1d3640000000p-15}},
     {{0x1.ffff860000000p-1, 0x1.18e38c0000000p-2, 0x1.97feea0000000p-4, 0x1.6a434e0000000p-5, 0x1.73b4820000000p-6,
       0x1.a8192a0000000p-7, 0x1.0600700000000p-7, 0x1.583cc80000000p-8, 0x1.dabe340000000p-9, 0x1.544c220000000p-9,
       0x1.f7920c0000000p-10, 0x1.7e94620000000p-10, 0x1.2956b80000000p-10, 0x1.d703ec0000000p-11,
       0x1.7b172a0000000p-11, 0x1.3597660000000p-11}},
     {{-0x1.20dd740000000p+0, -0x1.ac70440000000p-2, -0x1.969fe20000000p-3, -0x1.c727320000000p-4,
       -0x1.1d1d480000000p-4, -0x1.82c2d20000000p-5, -0x1.1604fa0000000p-5, -0x1.a1a0b20000000p-6,
       -0x1.4489fe0000000p-6, -0x1.0320ae0000000p-6, -0x1.a702480000000p-7, -0x1.5f9b660000000p-7,
       -0x1.28c1520000000p-7, -0x1.fb782a0000000p-8, -0x1.b6c6e20000000p-8, -0x1.7f15640000000p-8}},
     {{0x1.0000000000000p+0, 0x1.17aa700000000p-1, 0x1.6e440c0000000p-2, 0x1.0b22b00000000p-2, 0x1.a10e3c0000000p-3,
       0x1.54b3b60000000p-3, 0x1.1f67780000000p-3, 0x1.f07ef60000000p-4, 0x1.b4ac060000000p-4, 0x1.858cfe0000000p-4,
       0x1.5f82fc0000000p-4, 0x1.402e280000000p-4, 0x1.25f02c0000000p-4, 0x1.0fa5520000000p-4, 0x1.f8f4f80000000p-5,
       0x1.d7a6720000000p-5}}}};
