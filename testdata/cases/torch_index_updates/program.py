"""Indexed reads and writes: index_put with and without accumulation, scatter_reduce, gather, sort, topk, cumulative sums, masks, narrow types."""

import torch

from export_pytorch import export


def updates(table, rows, columns, values, mask):
    counted = table.clone().index_put_((rows, columns), values, accumulate=True)
    counted[2:5, ::3] = -1.0
    spread = table.scatter_reduce(1, columns.expand(table.shape[0], -1), values.expand(table.shape[0], -1), "amax")
    order, places = torch.sort(table, dim=1, descending=True, stable=True)
    best, where = torch.topk(counted.flatten(), 7)
    running = torch.cumsum(table.masked_fill(mask, 0.5), 0)
    halves = torch.einsum("ij,kj->ik", table.bfloat16(), order.bfloat16())
    small = torch.clamp(table * 50, -128, 127).to(torch.int8)
    return (counted, spread, order, places, best, where, running, halves, small // 3, small.long() >> 2, torch.gather(table, 1, places[:, :4]),
            torch.where(mask, table, table.roll(2, 1)).std(0), torch.bucketize(values, torch.linspace(-1, 1, 5, device=values.device)))


generator = torch.Generator().manual_seed(6)
export("testdata/cases/torch_index_updates", updates, torch.randn(6, 10, generator=generator), torch.randint(-6, 6, (12,), generator=generator),
       torch.randint(0, 10, (12,), generator=generator), torch.randn(12, generator=generator), torch.rand(6, 10, generator=generator) < 0.3, values=True)
