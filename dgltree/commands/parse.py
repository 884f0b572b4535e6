"""``dgltree parse``: the trees that a language model, or an encoder that ``fit`` trained, finds over sentences."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgltree.commands.options import STDIN, check_input, check_output_folder, option_parser
from dgltree.read.bracket import write_unlabelled
from dgltree.read.text import decode, one_line
from dgltree.read.words import normalize_word, plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dgltree.models.language_model import LanguageModel
    from dgltree.trees.tree import Tree

EXAMPLES = """\
examples:
  dgltree parse model.safetensors sentences.txt > trees.txt
  echo "The old man the boats." | dgltree parse model.safetensors - --out pictures

Prints one tree per line, in order. A language model leaves out punctuation, reads unknown words as <unk>, and prints
an empty line for a sentence without words. A folder of 'dgltree fit' must hold an encoder that finds trees, such as
gumbel_tree. FILE is then read as in training, and unknown words are printed as <unk>.
"""
MOST_PICTURES = 100


NEEDS = ("dgltree.models.language_model",)


def prepare(_: str, arguments: list[str]) -> argparse.Namespace:
    """The options. Raises ``FileNotFoundError`` and ``NotADirectoryError``."""
    options = _parse(arguments)
    for path in (options.model, options.file):
        check_input(path)
    check_output_folder(options.out)
    return options


def run(_: str, options: argparse.Namespace) -> int:
    """Run the command; the exit code is 1 if a record could not be read."""
    if Path(options.model).is_dir():
        return _of_folder(options)
    from dgltree.models.language_model import load_language_model
    from dgltree.training import cpu_threads

    model = load_language_model(options.model)
    sentences = [plain_words(line) for line in _read(options.file).splitlines()]
    known = [words for words in sentences if words]
    if not known:
        raise ValueError(f"{options.file}: no words; expected one sentence per line")
    with cpu_threads.limit_threads(options.threads):
        found = _trees(model, known, options.layer)
    trees = iter(found)
    for words in sentences:
        print(write_unlabelled(next(trees)) if words else "")
    unknown = sum(model.unknown([normalize_word(word)]) for words in known for word in words)
    print(f"{len(known):,} sentences; {unknown:,} of {sum(map(len, known)):,} words unknown", file=sys.stderr)
    if options.out:
        _draw(found, options.out)
    return 0


def _of_folder(options: argparse.Namespace) -> int:
    """Print the trees that the encoder of a training finds. Raises ``ValueError`` for one that finds none."""
    from dgltree.commands.reports import report_bad
    from dgltree.datasets.tree_dataset import TreeDataset
    from dgltree.models.tree_model import evaluating
    from dgltree.training import cpu_threads
    from dgltree.training.model_files import check_answers
    from dgltree.training.trained_model import TrainedModel

    if options.layer is not None:
        raise ValueError("--layer is for a language model; an encoder of 'dgltree fit' induces one tree per sentence")
    check_answers(options.model)
    model = TrainedModel.load(options.model)
    if not model.model.encoder.induces_trees:
        raise ValueError(f"{options.model}: its encoder induces no trees; use gumbel_tree, beam_tree or ordered_memory")
    given = TreeDataset.from_file(options.file, cached=False, named=False, **model.reading.to_json())
    data = model.dataset(given)
    report_bad(options.file, data.bad)
    found: list[Tree] = []
    with cpu_threads.limit_threads(options.threads), evaluating(model.model):
        for part in model.batches(data, baseline=False):
            found += _over_words(model.model.encoder, part.trees)
    for tree in found:
        print(write_unlabelled(tree))
    if options.out:
        _draw(found, options.out)
    return 1 if data.bad else 0


def _over_words(encoder: Any, batch: Any) -> "Iterator[Tree]":
    """The trees that an encoder finds, over the words alone: it may also read brackets and names of inner nodes."""
    from dgltree.encoders.sequence.linearization import symbol_names
    from dgltree.induction.binary_trees import without_tokens

    names = symbol_names(encoder.vocabulary)
    first_word = len(names) - len(encoder.vocabulary.tokens)
    sequences = encoder.plan(batch, share=False)
    words: list[list[str]] = []
    for ids, length in zip(sequences.ids.tolist(), sequences.lengths.tolist(), strict=True):
        words.append([names[i] if i >= first_word else "" for i in ids[:length]])
    for tree in encoder.encoded(sequences).parse.trees(words):
        yield without_tokens(tree, [""])


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = option_parser(
        "parse",
        "Find trees over sentences, by the syntactic distances of an ON-LSTM or by an encoder that finds trees.",
        EXAMPLES,
    )
    parser.add_argument(
        "model", metavar="MODEL", help="model.safetensors of a language model, or the folder that 'dgltree fit' wrote"
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="sentences, one per line, or trees for the model of a folder; - reads standard input",
    )
    parser.add_argument(
        "--layer",
        type=int,
        metavar="N",
        help="read the trees from this layer; 1 is the lowest (default: the middle layer)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write pictures of the trees to this folder, as SVG and PNG"
    )
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="use this many CPU threads (default: 1)")
    return parser.parse_args(arguments)


def _read(file: str) -> str:
    return decode(sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes(), file)


def _trees(model: "LanguageModel", sentences: list[list[str]], layer: int | None) -> "list[Tree]":
    from dgltree.induction.binary_trees import tree_from_distances

    distances = model.distances([[normalize_word(word) for word in words] for words in sentences])
    count = distances[0].shape[1]
    if layer is not None and not 1 <= layer <= count:
        raise ValueError(f"--layer is {layer}; the model has layers 1 to {count}")
    column = count // 2 if layer is None else layer - 1
    pairs = zip(sentences, distances, strict=True)
    return [tree_from_distances([_leaf(word) for word in words], d[:, column]) for words, d in pairs]


def _leaf(word: str) -> str:
    """A word as brackets can hold it."""
    return one_line(word, 60).translate({ord("("): "-LRB-", ord(")"): "-RRB-", ord(" "): "_"})


def _draw(trees: "list[Tree]", folder: Path) -> None:
    from dgltree.plotting.charts import save
    from dgltree.plotting.trees import trees as picture

    folder.mkdir(parents=True, exist_ok=True)
    for number, tree in enumerate(trees[:MOST_PICTURES], 1):
        save(picture(tree, {}, "found"), f"{folder / str(number)}")
    if len(trees) > MOST_PICTURES:
        print(f"{folder}: pictures of the first {MOST_PICTURES} sentences", file=sys.stderr)
