"""Parts of a running text in columns, for a model that carries its state from part to part."""

from pathlib import Path

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from dgltree.batching.vocabulary import Vocabulary
from dgltree.read.words import read_word_trees
from dgltree.support.lazy import cached_property
from dgltree.training.processes import local_share
from tasks.data import TaskData, data_folder
from tasks.language.text import columns, parts, read_sentences, stream, vocabulary_of

Part = tuple[Tensor, Tensor]
"""Words and the words after them, (B, T) int64 each."""
DEVIATION = 5
"""Standard deviation of the lengths of parts."""
SHORTEST = 5
"""Least length of a part."""
FULL = 0.95
"""How often the length of a part is not halved."""


class LanguageText(TaskData):
    """``NAME.train.txt``, ``NAME.valid.txt`` and ``NAME.test.txt`` as streams of words, ``<eos>`` after each line.

    The stream is cut into as many columns as a batch has rows, and these into parts. In training the length of a part
    is normal around ``part_length``, or with probability 0.05 around half of it, with a standard deviation of 5, and at
    least 5 (Merity et al. 2017, arXiv 1708.02182); it depends on (seed, epoch) alone. One last word without a
    further one to predict after it is left out of training, as the published program does.

    Args:
        folder: where the files are; by default the folder ``language`` in the one that DGLTREE_DATA names.
        name: of the files.
        batch_size, validation_batch_size, test_batch_size: columns.
        part_length: words.
        trees: a bracketed file, or a folder of ``*.mrg`` files, on which the trees that a model finds are scored in
            validation; None: none are.
        seed: of the lengths.

    Raises ``ValueError`` for a size below 1 and what :mod:`tasks.language.text` raises.
    """

    def __init__(
        self,
        folder: Path | None = None,
        name: str = "ptb",
        batch_size: int = 20,
        validation_batch_size: int = 10,
        test_batch_size: int = 1,
        part_length: int = 70,
        trees: Path | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.batch_sizes = {"train": batch_size, "valid": validation_batch_size, "test": test_batch_size}
        for size in (*self.batch_sizes.values(), part_length):
            if size < 1:
                raise ValueError(
                    f"batch sizes and part_length are {[*self.batch_sizes.values(), part_length]}; 1 or more"
                )
        self.folder = folder or data_folder("language")
        self.name = name
        self.part_length = part_length
        self.seed = seed
        self.given_trees = [] if trees is None else read_word_trees(trees)[0]

    def sentences(self, part: str) -> list[list[str]]:
        """Return the sentences of a file."""
        return read_sentences(self._file(part))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary of the training text alone."""
        return vocabulary_of(self.sentences("train"))

    @cached_property
    def train(self) -> Tensor:
        return self._columns("train")

    @cached_property
    def validation(self) -> Tensor:
        return self._columns("valid")

    @cached_property
    def test(self) -> Tensor:
        return self._columns("test")

    def setup(self, stage: str) -> None:
        """Read what the stage needs, so that a file that is wrong is known before the first step."""
        _ = (self.train, self.validation, self.test) if stage == "fit" else self.test

    def train_dataloader(self) -> DataLoader[Part]:
        lengths = draw_lengths(self.train.shape[1], self.part_length, self.epoch_generator())
        assert self.trainer is not None
        found = parts(self.train[local_share(list(range(len(self.train))), self.trainer)], lengths)
        return _loader(found[:-1] if len(found) > 1 and found[-1][0].shape[1] == 1 else found)

    def val_dataloader(self) -> DataLoader[Part]:
        return self._whole(self.validation)

    def test_dataloader(self) -> DataLoader[Part]:
        return self._whole(self.test)

    def transfer_batch_to_device(self, batch: Part, device: torch.device, _: int) -> Part:
        words, following = batch
        return words.to(device), following.to(device)

    def _whole(self, text: Tensor) -> DataLoader[Part]:
        return _loader(parts(text, [self.part_length] * text.shape[1]))

    def _columns(self, part: str) -> Tensor:
        text = stream(self._file(part), self.sentences(part), self.vocabulary)
        return columns(text, self.batch_sizes[part])

    def _file(self, part: str) -> Path:
        return self.folder / f"{self.name}.{part}.txt"


def draw_lengths(words: int, part_length: int, generator: torch.Generator) -> list[int]:
    """Lengths of parts that together have ``words`` or more."""
    count = words // SHORTEST + 1
    means = torch.where(torch.rand(count, generator=generator) < FULL, part_length, part_length / 2)
    lengths = torch.normal(means, float(DEVIATION), generator=generator).long().clamp(min=SHORTEST)
    return lengths[: int((lengths.cumsum(0) < words).sum()) + 1].tolist()


def _loader(found: list[Part]) -> DataLoader[Part]:
    return DataLoader(found, batch_size=None)  # type: ignore[arg-type]
