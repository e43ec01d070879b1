"""A module with constants of 12000, 12000 and 12 bytes; one in another layout, one read in a loop.  Its first result is p times 0, 1, 2 ... 2999.
The argument: what is added to the constants."""
import sys

first = int(sys.argv[1])
numbers = ", ".join(str(first + i) for i in range(3000))
rows = ", ".join("{" + ", ".join(str(first + 3 * i + j) for j in range(3)) + "}" for i in range(1000))
print(f"""HloModule constants, entry_computation_layout={{(f32[])->(f32[3000]{{0}}, f32[1000,3]{{0,1}})}}
add {{ a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }}
body {{
  state = (s32[], f32[1000,3]{{0,1}}) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  sums = f32[1000,3]{{0,1}} get-tuple-element(state), index=1
  rows = f32[1000,3]{{0,1}} constant({{ {rows} }})
  doubled = f32[1000,3]{{0,1}} add(sums, rows)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT result = (s32[], f32[1000,3]{{0,1}}) tuple(next, doubled)
}}
condition {{
  state = (s32[], f32[1000,3]{{0,1}}) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  five = s32[] constant(5)
  ROOT less = pred[] compare(i, five), direction=LT
}}
ENTRY main {{
  p = f32[] parameter(0)
  numbers = f32[3000] constant({{ {numbers} }})
  scale = f32[3000] broadcast(p), dimensions={{}}
  scaled = f32[3000] multiply(numbers, scale)
  zero = s32[] constant(0)
  start = f32[1000,3]{{0,1}} broadcast(p), dimensions={{}}
  state = (s32[], f32[1000,3]{{0,1}}) tuple(zero, start)
  loop = (s32[], f32[1000,3]{{0,1}}) while(state), condition=condition, body=body
  sums = f32[1000,3]{{0,1}} get-tuple-element(loop), index=1
  ROOT result = (f32[3000], f32[1000,3]{{0,1}}) tuple(scaled, sums)
}}""")
