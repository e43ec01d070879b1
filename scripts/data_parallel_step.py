"""A training step of two dense layers whose examples are divided among all devices, for benchmarks: texts of whole arrays with shardings."""

STEP = """HloModule step, num_partitions=2
ENTRY main {{
  x = f32[{batch},{n}] parameter(0), sharding={{devices=[2,1]<=[2]}}
  wanted = f32[{batch},{m}] parameter(1), sharding={{devices=[2,1]<=[2]}}
  w1 = f32[{n},{h}] parameter(2), sharding={{replicated}}
  w2 = f32[{h},{m}] parameter(3), sharding={{replicated}}
  zero = f32[] constant(0)
  zeroes = f32[{batch},{h}] broadcast(zero), dimensions={{}}
  inner = f32[{batch},{h}] dot(x, w1), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  hidden = f32[{batch},{h}] maximum(inner, zeroes)
  y = f32[{batch},{m}] dot(hidden, w2), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  error = f32[{batch},{m}] subtract(y, wanted)
  g2 = f32[{h},{m}] dot(hidden, error), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  back = f32[{batch},{h}] dot(error, w2), lhs_contracting_dims={{1}}, rhs_contracting_dims={{1}}
  is_on = pred[{batch},{h}] compare(inner, zeroes), direction=GT
  through = f32[{batch},{h}] select(is_on, back, zeroes)
  g1 = f32[{n},{h}] dot(x, through), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}
  rate = f32[] constant(0.0001)
  r1 = f32[{n},{h}] broadcast(rate), dimensions={{}}
  r2 = f32[{h},{m}] broadcast(rate), dimensions={{}}
  d1 = f32[{n},{h}] multiply(r1, g1)
  d2 = f32[{h},{m}] multiply(r2, g2)
  new1 = f32[{n},{h}] subtract(w1, d1)
  new2 = f32[{h},{m}] subtract(w2, d2)
  ROOT t = (f32[{n},{h}], f32[{h},{m}]) tuple(new1, new2), sharding={{{{replicated}}, {{replicated}}}}
}}
"""


def write_models(folder, sizes):
    """A file in |folder| for each of |sizes|, "BATCH,IN,HIDDEN,OUT"."""
    files = []
    for text in sizes:
        batch, n, h, m = (int(size) for size in text.split(","))
        files.append(folder / f"step_{text.replace(',', '_')}.hlo")
        files[-1].write_text(STEP.format(batch=batch, n=n, h=h, m=m))
    return files
