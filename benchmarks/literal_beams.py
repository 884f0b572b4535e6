"""Beam Trees as published programs compute them: whole beams copied in every step, one-hot products for selections."""

import torch
from torch import Tensor, nn

from dgltree.encoders.latent.beam_tree import BeamSearch


class LiteralBeams(nn.Module):
    """The same network as a core without noise, for sequences of one length, vectorised over the batch and the beams.

    Args:
        core: whose weights it has.
    """

    def __init__(self, core: BeamSearch) -> None:
        super().__init__()
        self.core = core

    def forward(self, ids: Tensor) -> Tensor:
        """(N, D) of ids (N, T)."""
        core = self.core
        h = core.words(ids).unsqueeze(1)  # (N, B, S, D)
        total = h.new_zeros(len(ids), 1)
        for _ in range(ids.shape[1] - 1):
            left, right = h[:, :, :-1], h[:, :, 1:]
            composed = None if core.score.of_children else core.cell(left, right, core.norm)
            scores = core.score(torch.stack([left, right], -2)) if composed is None else core.score(composed)
            log_pi = (scores.softmax(2) + 1e-20).log()
            each = min(core.beam_size, scores.shape[2])
            at = scores.topk(each, 2).indices
            proposed = total.unsqueeze(2) + log_pi.gather(2, at)
            selected = nn.functional.one_hot(at, scores.shape[2]).to(h.dtype).flatten(1, 2)  # (N, P, S - 1)
            beams = h.shape[1]
            copies = [h, left, right] if composed is None else [h, composed]
            wide = [part.unsqueeze(2).expand(-1, beams, each, -1, -1).flatten(1, 2) for part in copies]
            keep = proposed.flatten(1).topk(min(core.beam_size, beams * each), 1)
            chosen = nn.functional.one_hot(keep.indices, beams * each).to(h.dtype)  # (N, B, P)
            h, *rest = (torch.einsum("nbp,npsd->nbsd", chosen, part) for part in wide)
            m = chosen @ selected
            if composed is None:
                l, r = ((m.unsqueeze(2) @ part).squeeze(2) for part in rest)  # noqa: E741 (left and right)
                c = core.cell(l, r, core.norm).unsqueeze(2)
            else:
                [c] = rest
            m, total = m.unsqueeze(3), keep.values
            sums = m.cumsum(2)
            h = m * c + (1 - sums) * h[:, :, :-1] + (sums - m) * h[:, :, 1:]
        return (total.softmax(1).unsqueeze(2) * h[:, :, 0]).sum(1)
