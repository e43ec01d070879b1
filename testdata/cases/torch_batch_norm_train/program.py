"""Batch norm in training and its gradients, between convolutions: grouped, transposed; pooling with padding."""

import torch

from export_pytorch import export

torch.manual_seed(4)
model = torch.nn.Sequential(
    torch.nn.Conv2d(4, 8, 3, padding=1, groups=2, bias=False),
    torch.nn.BatchNorm2d(8),
    torch.nn.SiLU(),
    torch.nn.MaxPool2d(3, 2, 1),
    torch.nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False),
    torch.nn.BatchNorm2d(3, momentum=None),
)


def gradients(model, x, target):
    y = model(x)
    loss = torch.nn.functional.huber_loss(y, target)
    return loss, torch.autograd.grad(loss, [x, *model.parameters()])


export("testdata/cases/torch_batch_norm_train", gradients, model, torch.randn(3, 4, 8, 8, requires_grad=True), torch.randn(3, 3, 8, 8), values=True)
