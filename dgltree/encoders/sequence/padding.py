"""Where sequences have no word, and the checks of what is given with it.

One convention everywhere: a mask (B, T) bool is true at padding, as torch's ``key_padding_mask``.
"""

import torch
from torch import Tensor


def padding_mask(ids: Tensor, lengths: Tensor) -> Tensor:
    """(B, T) bool, true after the end of a sequence, from ids (B, T) and lengths (B,)."""
    place = torch.arange(ids.shape[1], device=ids.device)
    return place >= lengths.unsqueeze(1)


def reverse_places(lengths: Tensor, width: int) -> Tensor:
    """(B, T) int64, the places of each sequence's words from the last to the first; padding stays where it is."""
    place = torch.arange(width, device=lengths.device).expand(len(lengths), -1)
    end = lengths.unsqueeze(1)
    return (end - 1 - place).where(place < end, place)


def check_sequences(ids: Tensor, lengths: Tensor, size: int, max_length: int | None) -> Tensor:
    """The lengths on the CPU, (B,), for which a GPU is waited for once.

    Raises ``ValueError`` for what is not a batch of sequences of ids below ``size``, or has one longer than
    ``max_length``.
    """
    are_whole = _is_whole(ids) and _is_whole(lengths)
    if ids.dim() != 2 or lengths.shape != ids.shape[:1] or not are_whole:
        raise ValueError(
            f"ids are {tuple(ids.shape)} {ids.dtype} and lengths {tuple(lengths.shape)} {lengths.dtype}; "
            "the shapes must be (B, T) and (B,), whole numbers"
        )
    if not len(ids):
        raise ValueError("an empty batch: give at least one sequence")
    extremes = torch.stack(ids.aminmax())
    on_cpu = torch.cat([lengths, extremes]).cpu()
    known = on_cpu[:-2]
    lowest, highest = on_cpu[-2:].tolist()
    shortest = int(known.min())
    longest = int(known.max())
    T = ids.shape[1]
    if shortest < 1 or longest > T:
        raise ValueError(f"lengths go from {shortest} to {longest}; ids of shape (B, {T}) allow lengths from 1 to {T}")
    if max_length is not None and longest > max_length:
        raise ValueError(
            f"sequence {int(known.argmax())} has length {longest}; this encoder takes max_length={max_length}"
        )
    if lowest < 0 or highest >= size:
        raise ValueError(f"ids go from {lowest} to {highest}; this encoder takes ids from 0 to {size - 1}")
    return known


def _is_whole(numbers: Tensor) -> bool:
    return not numbers.is_floating_point() and numbers.dtype != torch.bool


def check_vectors(x: Tensor, padding: Tensor | None, input_size: int) -> None:
    """``ValueError`` for what is not a batch of sequences of vectors (B, T, input_size) with a word each."""
    if x.dim() != 3 or x.shape[2] != input_size:
        raise ValueError(f"x is {tuple(x.shape)}; it must be (B, T, {input_size})")
    if not x.shape[0] or not x.shape[1]:
        raise ValueError("an empty batch: give at least one sequence, of at least one word")
    if padding is None:
        return
    if padding.shape != x.shape[:2] or padding.dtype != torch.bool:
        raise ValueError(f"padding is {tuple(padding.shape)} {padding.dtype}; it must be {tuple(x.shape[:2])} bool")
    empty = padding.all(1)
    if empty.any():
        raise ValueError(f"sequence {int(empty.nonzero()[0])} is empty; give at least one word")
