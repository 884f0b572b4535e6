"""``python -m tasks.logic.show FORMULA [FORMULA] [--model FILE] [--out DIR]``: show how Ordered Memory reads formulas.

Prints the induced tree of each formula and the brackets that it shares with the gold tree. For two formulas, it also
prints the probability of each relation. With ``--out`` it draws the attention over time and the trees, as SVG and PNG.
"""

import argparse
from pathlib import Path

from dgltree import Tree, batch, load
from dgltree.encoders import Attention, SequenceEncoder
from dgltree.induction.binary_trees import without_tokens
from dgltree.induction.evalb import Parameters, score
from dgltree.models import PairModel, TreeModel, evaluating
from dgltree.plotting.charts import save
from dgltree.plotting.trees import attention, trees
from dgltree.ranking.pretrained import logic_model
from dgltree.read.bracket import read_unlabelled, write_unlabelled
from tasks.logic.language import is_formula


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.logic.show", description=__doc__)
    parser.add_argument(
        "formulas", nargs="+", metavar="FORMULA", help="one or two formulas, such as '( a ( and ( not b ) ) )'"
    )
    parser.add_argument("--model", type=Path, help="model.safetensors of a training (default: the shipped model)")
    parser.add_argument("--out", type=Path, help="write pictures to this folder")
    options = parser.parse_args(arguments)
    if len(options.formulas) > 2:
        parser.error(f"{len(options.formulas)} formulas; give one, or two to compare")
    for text in options.formulas:
        if not is_formula(text):
            parser.error(
                f"{text!r} is not a formula: a to f, ( not F ), ( F ( and F ) ), ( F ( or F ) ), single spaces"
            )
    try:
        model = load(options.model) if options.model else logic_model()
        joint = isinstance(model.encoder, SequenceEncoder) and model.encoder.joint
        if not isinstance(model, PairModel) and not joint:
            raise ValueError(f"{options.model} reads single trees, no pairs of formulas")
        show(options.formulas, model, options.out)
    except (ValueError, FileNotFoundError) as error:
        raise SystemExit(str(error)) from None


def show(formulas: list[str], model: TreeModel, out: Path | None) -> None:
    """Print, and draw into a folder."""
    given = [read_unlabelled(text) for text in formulas]
    if isinstance(model.encoder, SequenceEncoder) and model.encoder.induces_trees:
        for number, (text, tree) in enumerate(zip(formulas, given, strict=True), 1):
            _show_tree(text, tree, model.encoder, None if out is None else out / str(number))
    if len(given) == 2:
        with evaluating(model):
            probabilities = model(batch(given, model.encoder.vocabulary)).softmax(-1)[0].tolist()
        ranked = sorted(zip(probabilities, model.classes, strict=True), reverse=True)
        print("  ".join(f"{relation} {probability:.3f}" for probability, relation in ranked))


def _show_tree(text: str, given: Tree, encoder: SequenceEncoder, out: Path | None) -> None:
    flat = batch([given], encoder.vocabulary)
    words = encoder.words(flat)
    with evaluating(encoder):
        parse = encoder.encoded(flat).parse
    assert parse is not None
    [whole] = parse.trees(words)
    found = without_tokens(whole, "()")
    matched = score([given], [found], Parameters(labelled=False)).sentences[0]
    print(f"{write_unlabelled(found)}  ({matched.matched} of {matched.gold} brackets)")
    if out is None:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    save(trees(given, {"found": found}), f"{out}-trees")
    if isinstance(parse, Attention):
        save(attention(words[0], parse.scores[0].numpy()), f"{out}-attention")


if __name__ == "__main__":
    main()
