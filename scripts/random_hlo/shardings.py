"""Random shardings for the lines of a module, in HLO's words or in Shardy's."""

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
    elif rng.random() < 0.1:  # in no order that a mesh has
        places = list(range(devices))
        rng.shuffle(places)
        order = ",".join(map(str, places))
    return f"devices=[{','.join(map(str, tiles))}]{order}" + (" last_tile_dim_replicate" if copies > 1 else "")


def mesh_axes(seed, devices):
    """Of Shardy's mesh: sizes by name, primes or products of two."""
    rng, sizes = random.Random(f"mesh {seed}"), factors(devices)
    if len(sizes) > 1 and rng.random() < 0.5:
        sizes = [sizes[0] * sizes[1]] + sizes[2:]
    return dict(zip("abc", sizes))


def mesh(seed, devices):
    """The header's attribute with it."""
    rng, ids = random.Random(f"device ids {seed}"), ""
    if rng.random() < 0.2:
        places = list(range(devices))
        rng.shuffle(places)
        ids = f", device_ids=[{', '.join(map(str, places))}]"
    axes = ", ".join(f'"{name}"={size}' for name, size in mesh_axes(seed, devices).items())
    return f"frontend_attributes={{xla.sdy.meshes={{mesh = #sdy.mesh<[{axes}]{ids}>}}}}"


def shardy_sharding(rng, axes, rank):
    """Of an array, without "#sdy.sharding"."""
    parts = []
    for name, size in axes.items():
        first = factors(size)[0]
        if first < size and rng.random() < 0.3:
            parts += [f'\\"{name}\\":(1){first}', f'\\"{name}\\":({first}){size // first}']
        else:
            parts.append(f'\\"{name}\\"')
    rng.shuffle(parts)
    dims, rest = [[] for _ in range(rank)], []
    for part in parts:
        dim = rng.randrange(rank + 1)
        (rest if dim == rank or rng.random() < 0.2 else dims[dim]).append(part)
    whole = [part for part in rest if ":" not in part]
    replicated = f", replicated={{{', '.join(whole)}}}" if whole and rng.random() < 0.1 else ""
    texts = [f"{{{', '.join(names + ['?'] * (rng.random() < 0.4))}}}" + ("p1" if names and rng.random() < 0.1 else "") for names in dims]
    return f"<@mesh, [{', '.join(texts)}]{replicated}>"


def attribute(rng, seed, devices, ranks, is_tuple):
    """With which an instruction says how arrays of |ranks|, its value or the leaves of it, are divided."""
    if in_shardys_words(seed):
        texts = [shardy_sharding(rng, mesh_axes(seed, devices), rank) for rank in ranks]
        text = f"#sdy.sharding_per_value<[{', '.join(texts)}]>" if is_tuple else f"#sdy.sharding{texts[0]}"
        return f'frontend_attributes={{xla.sdy.sharding="{text}"}}'
    texts = [f"{{{sharding(rng, devices, rank)}}}" for rank in ranks]
    return f"sharding={{{', '.join(texts)}}}" if is_tuple else f"sharding={texts[0]}"


def in_shardys_words(seed):
    return seed % 3 == 0


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
        ranks = [len([d for d in dims.split(",") if d]) for dims in leaves]
        return f"{line}, {attribute(rng, seed, devices, ranks, True)}"
    shape = SHAPE.match(rest)  # None: a size that is set at run time
    dims = [int(d) for d in shape[1].split(",") if d] if shape else []
    if not dims or math.prod(dims) == 0 or rng.random() > chance:
        return line
    return f"{line}, {attribute(rng, seed, devices, [len(dims)], False)}"


def sharded_text(text, seed):
    """The module |text| for device_count(seed) devices: shardings of some parameters, values and results of its entry."""
    head, entry = text.split("ENTRY ", 1)
    devices = device_count(seed)
    if in_shardys_words(seed):
        header, rest = head.split("\n", 1)
        head = f"{header}, {mesh(seed, devices)}\n{rest}"
    return head + "ENTRY " + "\n".join(sharded_line(line, seed, devices) for line in entry.split("\n"))
