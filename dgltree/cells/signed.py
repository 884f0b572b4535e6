"""State dicts that say of which vocabulary they are: rows of weights belong to its functions and tokens, in order."""

from typing import Any

from torch import nn

NAME = "vocabulary"
"""In the metadata of a module in a state dict, where torch has the module's version, too."""


def signed(module: nn.Module) -> None:
    """From now on a module's state dicts carry the digest of its vocabulary, and it refuses those of another one.

    One without a digest is read as it is: of an earlier release, or made by hand.
    """
    module.register_state_dict_post_hook(_sign)
    module.register_load_state_dict_pre_hook(_check)


def _sign(module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
    local_metadata[NAME] = module.vocabulary.digest


def _check(
    module: Any, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool, *more: list[str]
) -> None:
    if local_metadata.get(NAME, module.vocabulary.digest) != module.vocabulary.digest:
        more[-1].append(
            f"the weights{f' {prefix[:-1]!r}' * bool(prefix)} are those of another vocabulary, or of this one in "
            f"another order: build the {type(module).__name__} with the vocabulary that they were trained with"
        )
