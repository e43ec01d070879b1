"""Random shardings for the lines of a module, in HLO's words."""

import math
import random
import re

LINE = re.compile(r"( *(?:ROOT )?(\w+) = )(\(?[a-z0-9]+\[.*)", re.DOTALL)
SHAPE = re.compile(r"[a-z0-9]+\[([0-9,]*)\]")
DEVICES = [2, 2, 3, 4, 4, 6, 8, 8]


def device_count(seed):
    return random.Random(f"devices {seed}").choice(DEVICES)


def factors(number):
    """Of |number|, primes."""
    for prime in range(2, number + 1):
        if number % prime == 0:
            return [prime] + factors(number // prime)
    return []


def sharding(rng, devices, rank):
    """Of an array, without braces."""
    tiles, copies = [1] * rank, 1
    for factor in factors(devices):
        dim = rng.randrange(rank + 1)
        if dim == rank or rng.random() < 0.2:
            copies *= factor
        else:
            tiles[dim] *= factor
    if rank == 0 or max(tiles) == 1:
        return "replicated"
    if copies > 1:
        tiles.append(copies)
    order = f"<=[{devices}]"
    axes = factors(devices)
    if len(axes) > 1 and rng.random() < 0.3:
        places = list(range(len(axes)))
        rng.shuffle(places)
        order = f"<=[{','.join(map(str, axes))}]T({','.join(map(str, places))})"
    return f"devices=[{','.join(map(str, tiles))}]{order}" + (" last_tile_dim_replicate" if copies > 1 else "")


def sharded_line(line, seed, devices):
    """|line| with a sharding, or as it was: always the same of one name, so that a reduced module keeps them."""
    found = LINE.match(line)
    if not found or "sharding=" in line:
        return line
    rng, rest = random.Random(f"{seed} {found[2]}"), found[3]
    chance = 0.7 if " parameter(" in rest else 0.5 if line.lstrip().startswith("ROOT") else 0.12
    if rest.startswith("("):
        leaves = [part for part in SHAPE.findall(rest[:rest.rindex(" tuple(")])] if line.lstrip().startswith("ROOT result = (") else []
        if not leaves or rng.random() > chance:
            return line
        parts = ", ".join("{" + sharding(rng, devices, len([d for d in dims.split(",") if d])) + "}" for dims in leaves)
        return f"{line}, sharding={{{parts}}}"
    shape = SHAPE.match(rest)  # None: a size that is set at run time
    dims = [int(d) for d in shape[1].split(",") if d] if shape else []
    if not dims or math.prod(dims) == 0 or rng.random() > chance:
        return line
    return f"{line}, sharding={{{sharding(rng, devices, len(dims))}}}"


def sharded_text(text, seed):
    """The module |text| for device_count(seed) devices: shardings of some parameters, values and results of its entry."""
    head, entry = text.split("ENTRY ", 1)
    devices = device_count(seed)
    return head + "ENTRY " + "\n".join(sharded_line(line, seed, devices) for line in entry.split("\n"))
