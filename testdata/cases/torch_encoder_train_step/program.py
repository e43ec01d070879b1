"""A training step of an embedding and a transformer's encoder layer, padded places masked, with AdamW."""

import torch

from export_pytorch import export

torch.manual_seed(2)
WORDS, WIDTH = 30, 16


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(WORDS, WIDTH, padding_idx=0)
        self.layer = torch.nn.TransformerEncoderLayer(WIDTH, 4, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.head = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.layer(self.embedding(words), src_key_padding_mask=words == 0))


def step(model, words, labels):
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-3)
    loss = torch.nn.functional.cross_entropy(model(words).transpose(1, 2), labels, ignore_index=0, label_smoothing=0.1)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return loss


words = torch.randint(1, WORDS, (3, 10))
words[1, 7:] = 0
export("testdata/cases/torch_encoder_train_step", step, Encoder(), words, words.roll(-1, 1), values=True)
