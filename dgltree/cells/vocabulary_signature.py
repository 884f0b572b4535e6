"""State dicts that say of which vocabulary they are: rows of weights belong to its functions and tokens, in order."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from dgltree.batching.vocabulary import Vocabulary

EXTRA = "_extra_state"
"""Ends the name by which torch has the extra state of a module in a state dict."""
NAME = "vocabulary"
"""Of the digest in the metadata of state dicts before 0.3, which copying, averaging and safetensors lose."""


class VocabularySigned(nn.Module):
    """A module whose state dicts carry the digest of its vocabulary as a tensor, and which refuses those of another.

    A tensor among the others stays where a dict is copied, written by safetensors, stripped of a prefix or averaged.
    """

    vocabulary: Vocabulary

    def get_extra_state(self) -> Tensor:
        """(32,) uint8, the digest of the vocabulary."""
        return torch.tensor(list(bytes.fromhex(self.vocabulary.digest)), dtype=torch.uint8, device="cpu")

    def set_extra_state(self, state: Tensor) -> None:
        """Nothing: it was compared before, with the name of the module at hand."""

    def sign(self) -> None:
        """From now on a state dict is looked at before it is loaded."""
        self.register_load_state_dict_pre_hook(_check)


def with_signatures(module: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of a file that names its vocabulary elsewhere, as a state dict of a module with that vocabulary."""
    signatures = {
        f"{name}.{EXTRA}".removeprefix("."): part.get_extra_state()
        for name, part in module.named_modules()
        if isinstance(part, VocabularySigned)
    }
    return {**signatures, **tensors}


def without_signatures(state_dict: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a state dict alone, for a file that names its vocabulary elsewhere."""
    return {name: tensor for name, tensor in state_dict.items() if not name.endswith(EXTRA)}


def _check(
    module: Any,
    state_dict: Any,
    prefix: str,
    local_metadata: dict[str, Any],
    strict: bool,  # True whatever the caller of load_state_dict said
    missing: list[str],
    unexpected: list[str],
    errors: list[str],
) -> None:
    key, digest = prefix + EXTRA, module.vocabulary.digest
    given = bytes(state_dict[key].tolist()).hex() if key in state_dict else local_metadata.get(NAME)
    if given is None:  # torch names it where strict=True
        missing.append(
            f"{key} (the digest of a vocabulary: compare the order of the functions and tokens of the weights "
            f"with that of this {type(module).__name__}, then load them with strict=False)"
        )
    elif given != digest:
        whose = f"the weights{f' {prefix[:-1]!r}' * bool(prefix)}"
        errors.append(
            f"{whose} are those of another vocabulary, or of this one in another order: build the "
            f"{type(module).__name__} with the vocabulary that they were trained with"
        )
    state_dict[key] = module.get_extra_state()  # so that torch does not name it once more
