"""Images resized, with places that are large constants; results of other types than PyTorch says: places of a maximum, absolutes of complex numbers."""

import torch
import torch.nn.functional as F

from export_pytorch import export


def resized(x):
    largest, places = F.max_pool2d(x, 2, 2, return_indices=True)
    numbers = x.to(torch.complex64) * (1 - 2j)
    return (F.interpolate(x[:, :, None, :6], scale_factor=4, mode="trilinear"), F.interpolate(x, (7, 19), mode="bilinear", align_corners=True),
            largest, places, F.max_unpool2d(largest, places, 2, 2), numbers.abs(), torch.view_as_real(numbers * numbers))


export("testdata/cases/torch_resize_types", resized, torch.randn(2, 3, 12, 14, generator=torch.Generator().manual_seed(8)), values=True)
