"""Trainings on labels of nodes: these are counted and not the roots' alone, and may be texts."""

import json
from pathlib import Path

import pytest
from own_trees import QUIET

import dgltree
from dgltree import Tree, TreeDataset
from dgltree.batching.vocabulary import NO_LABEL

pytestmark = QUIET
EARLY, WORDS = "abcd", "abcdefgh"


def labelled(early: int | str, late: int | str, root: int | str | None) -> list[Tree]:
    """Two words in a phrase, each labelled by its half of the alphabet."""

    def word(token: str) -> Tree:
        return Tree("word", token=token, label=early if token in EARLY else late)

    return [Tree("phrase", (word(a), word(b)), label=root) for a in WORDS for b in WORDS]


@pytest.mark.parametrize(("labels", "classes"), [((1, 0, 0), ("0", "1")), (("b", "a", "up"), ("a", "b", "up"))])
def test_labels_of_nodes_are_learnt_where_all_roots_have_one_label(
    labels: tuple[int | str, ...], classes: tuple[str, ...], tmp_path: Path
) -> None:
    data = TreeDataset(labelled(*labels))
    model = dgltree.fit(data, nodes=True, epochs=40, patience=40, lr=0.02, no_baseline=True, out=tmp_path / "m")
    assert model.classes == classes
    assert json.loads((tmp_path / "m" / "card.json").read_text())["further"]["node_accuracy"] == 1.0
    epochs = [json.loads(line)["accuracy"] for line in (tmp_path / "m" / "epochs.jsonl").read_text().splitlines()]
    assert epochs[0] < 1, "the epoch is chosen at nodes; at roots of one class all epochs are right"


def test_texts_at_nodes_are_named_in_a_data_set_however_it_is_read() -> None:
    trees = labelled("early", "late", "both")
    whole = TreeDataset(trees)
    streamed = TreeDataset.from_iterable((tree, "both") for tree in trees * 20)
    for data in (whole, streamed, whole.select([3])):
        assert set(data.node_classes) == {"early", "late", "both"}
        first = [data.node_classes[number] for number in data.trees.label[:3].tolist()]
        assert first[:2] == ["both", "early"]
    assert whole.with_classes(["late", "early"]).trees.label[:3].tolist() == [NO_LABEL, 1, 1]
    assert TreeDataset(labelled(1, 0, 0)).node_classes is None


def test_what_cannot_be_learnt_at_nodes_is_refused() -> None:
    with pytest.raises(ValueError, match="some node labels are strings and others are numbers; give one kind"):
        TreeDataset(labelled("early", 0, 0))
    with pytest.raises(
        ValueError, match="all nodes of the 52 training examples have the label '0'; give at least two classes"
    ):
        dgltree.fit(TreeDataset(labelled(0, 0, 0)), nodes=True)
    with pytest.raises(
        ValueError, match="nodes learns the labels of all nodes but is measured at roots, and no root has a label"
    ):
        dgltree.fit(TreeDataset(labelled(1, 0, None)), nodes=True)
