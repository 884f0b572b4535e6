"""Which records of a part of a file a model can answer, and what is wrong with the others."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from dgltree.datasets.formats import Bad
from dgltree.datasets.loading.parse import ParsedChunk
from dgltree.datasets.settings.read_settings import Reading
from dgltree.datasets.tree_dataset import TreeDataset
from dgltree.training.trained_model import TrainedModel

Repeated = Callable[[Sequence[str | None], Sequence[int], Sequence[str]], dict[int, Bad]]
"""Of examples with these ids, lines and files those whose id occurred before: ``Ids.repeated``."""


class RecordBlock(NamedTuple):
    """Some records: the examples that the model can read, in its vocabulary, and what else there is."""

    known: TreeDataset | None
    bad: list[Bad]
    order: list[int]
    """Of the known examples, followed by the bad ones, in the order of the file."""
    bad_names: list[str]
    """How the bad ones are called: by their ids if the record could be read, else by their lines."""


def block_of(model: TrainedModel, part: ParsedChunk, reading: Reading, repeated: Repeated) -> RecordBlock:
    """The records of a part. Raises ``ValueError`` for pairs if the model reads trees, and the other way round."""
    readable, unreadable = ([i for i, could in enumerate(part.could) if could is kind] for kind in (True, False))
    if part.trees is None:
        return RecordBlock(None, part.bad, list(range(len(part.bad))), [bad.name for bad in part.bad])
    data = TreeDataset.of_part(part, reading)
    model.check_kind(data)
    known, unknown = data.known(model.model.encoder.vocabulary, model.features)
    wrong = {i: data.bad_at(i, message) for i, message in unknown.items()}
    twice = repeated(data.ids, data.lines, data.files)
    if twice and known is not None:
        rows = [i for i in range(len(data)) if i not in wrong]
        fresh = [place for place, i in enumerate(rows) if i not in twice]
        known = known.select(fresh) if fresh else None
    wrong = dict(sorted((wrong | twice).items()))
    names = [(None if i in twice else data.ids[i]) or bad.name for i, bad in wrong.items()]
    places = [readable[i] for i in (*(i for i in range(len(data)) if i not in wrong), *wrong)] + unreadable
    order = sorted(range(len(places)), key=places.__getitem__)
    return RecordBlock(known, [*wrong.values(), *part.bad], order, names + [bad.name for bad in part.bad])


def names_of(block: RecordBlock) -> list[str]:
    """How the records are called in a table of answers, in the order of the file: by their ids, else by their lines."""
    names: list[str] = []
    if block.known is not None:
        names += [name or str(line) for name, line in zip(block.known.ids, block.known.lines, strict=True)]
    names += block.bad_names
    return [names[i] for i in block.order]
