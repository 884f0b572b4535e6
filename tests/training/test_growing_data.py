"""Next month: a split that is taken over, two models on rows that neither has seen, metrics by a column."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score, log_loss

import dgltree
from dgltree import TrainedModel, Tree, TreeDataset
from dgltree.commands.main import main
from dgltree.datasets.splitting import tree_keys
from dgltree.training.against import Contender, compare
from dgltree.training.by_column import by_column
from dgltree.training.folder import SPLIT_FILE
from dgltree.training.split_file import EarlierSplit

QUICK: dict[str, Any] = {"baseline": "fast", "hidden_size": 8, "epochs": 2, "lr": 0.01}


def rows(count: int, group: int = 0) -> TreeDataset:
    """Trees of a quantity, whose class is whether it is large."""
    drawn = np.random.default_rng(7).integers(0, 10_000, count).tolist()
    trees = [Tree("f", (Tree("w", token=str(i)), Tree("q", token=str(q)))) for i, q in enumerate(drawn)]
    groups = [f"g{i // group}" for i in range(count)] if group else None
    names = [f"r{i}" for i in range(count)]
    return TreeDataset(trees, ["large" if q > 5000 else "small" for q in drawn], ids=names, groups=groups)


def table(folder: Path) -> dict[str, str]:
    """The split of each id, by a reader of its own."""
    with (folder / SPLIT_FILE).open(newline="") as file:
        return {row["id"]: row["split"] for row in csv.DictReader(file, delimiter="\t")}


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("months")
    dgltree.fit(rows(300), out=folder / "may", **QUICK)
    dgltree.fit(rows(420), out=folder / "june", split_of=str(folder / "may"), seed=3, **QUICK)
    return folder


def test_the_folder_keeps_its_split_and_a_later_one_takes_it_over(months: Path) -> None:
    may, june = table(months / "may"), table(months / "june")
    assert set(may) == {f"r{i}" for i in range(300)}
    assert {id_: june[id_] for id_ in may} == may
    assert len(june) == 420
    parts = {name: list(may.values()).count(name) for name in ("train", "validation", "test")}
    card = json.loads((months / "may" / "card.json").read_text())
    assert card["data"]["examples"] == parts
    by_hash = {str(id_): name for name, some in dgltree.datasets.split(rows(420), 0).items() for id_ in some.ids}
    assert june == by_hash  # the seed of the first split goes on, whatever that of the later training is
    assert json.loads((months / "june" / "fit.json").read_text())["split"] == {"rule": "hash", "seed": 0}


def test_a_split_that_was_given_is_taken_over_too(tmp_path: Path) -> None:
    data = rows(60)
    data.splits = ["test" if i % 5 == 0 else "dev" if i % 5 == 1 else "train" for i in range(60)]
    dgltree.fit(data, out=tmp_path / "a", **QUICK)
    splits = EarlierSplit.of(tmp_path / "a").continued(rows(90))
    assert set(splits["test"].ids) >= {f"r{i}" for i in range(0, 60, 5)}
    assert set(splits["validation"].ids) >= {f"r{i}" for i in range(1, 60, 5)}
    assert not set(splits["train"].ids) & {f"r{i}" for i in range(60) if i % 5 < 2}


def test_new_rows_of_an_earlier_group_go_with_it_and_a_new_group_with_its_held_out_trees(tmp_path: Path) -> None:
    dgltree.fit(rows(400, group=4), out=tmp_path / "a", **QUICK)
    earlier, more = EarlierSplit.of(tmp_path / "a"), rows(600, group=4)
    tested = {group for group, name in earlier.groups.items() if name == "test"}
    copied = next(i for i, group in enumerate(more.groups) if group in tested)
    more.groups = [*more.groups[:400], *(sorted(tested)[0] if i < 450 else "new" for i in range(400, 600))]
    whole = more.select([*range(600), copied])
    whole.groups = [*more.groups, "new"]
    splits = earlier.continued(whole)
    assert [line for line in splits["test"].groups if line == "new"] == ["new"] * 151
    assert splits["test"].groups.count(sorted(tested)[0]) == 54


def test_a_tree_that_was_in_two_splits_stays_held_out(tmp_path: Path) -> None:
    data = rows(60).select([*range(60), 0])
    data.splits = ["train"] * 40 + ["validation"] * 10 + ["test"] * 11
    dgltree.fit(data, out=tmp_path / "a", **QUICK)
    assert EarlierSplit.of(tmp_path / "a").known(rows(1)) == ["test"]


def test_a_new_group_is_where_one_of_its_trees_was_held_out_longest_whichever_comes_first() -> None:
    data = rows(60)
    keys = tree_keys(data).tolist()
    names = ["test", "train", "validation", "train", "validation", "test"]
    earlier = EarlierSplit(dict(zip(keys, names, strict=False)), {}, seed=0)
    for order in (range(60), reversed(range(60))):
        turned = data.select([*order])
        turned.groups = [
            {"r0": "a", "r1": "a", "r2": "b", "r3": "b", "r4": "c", "r5": "c"}.get(id_) for id_ in turned.ids
        ]
        found = {id_: name for name, part in earlier.continued(turned).items() for id_ in part.ids}
        assert [found[f"r{i}"] for i in range(6)] == ["test", "test", "validation", "validation", "test", "test"]


def test_a_test_set_with_a_name_of_its_own_is_held_out(tmp_path: Path) -> None:
    keys = [f"{key:016x}" for key in tree_keys(rows(60)).tolist()]
    lines = [f"{'october' if i % 2 else 'train'}\t{key}\t\tr{i}\t{i}" for i, key in enumerate(keys)]
    (tmp_path / SPLIT_FILE).write_text("\n".join(["split\ttree\tgroup\tid\tline", *lines, ""]))
    (tmp_path / "fit.json").write_text(json.dumps({"split": {"rule": "column", "seed": 0}}))
    assert EarlierSplit.of(tmp_path).known(rows(4)) == ["train", "test", "train", "test"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("split\ttree\n", "damaged at line 1"),
        ("split\ttree\tgroup\tid\tline\ntrain\tnot hexadecimal\t\t\t1\n", "damaged at line 2"),
        ("split\ttree\tgroup\tid\tline\ntrain\t00\n", r"damaged at line 2 \(2 columns of 5\)"),
    ],
)
def test_a_damaged_table_is_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / SPLIT_FILE).write_text(text)
    with pytest.raises(ValueError, match=message):
        EarlierSplit.of(tmp_path)


def test_splits_that_cannot_be_taken_over_are_refused_in_a_line(months: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no split\.tsv in it"):
        dgltree.fit(rows(60), split_of=str(tmp_path), **QUICK)
    with pytest.raises(ValueError, match="the data has files for validation or tests: leave out one of the two"):
        dgltree.fit(rows(60), test=rows(60), split_of=str(months / "may"), **QUICK)
    data = rows(60)
    data.splits = ["train"] * 40 + ["dev"] * 20
    with pytest.raises(ValueError, match="the data has a split column"):
        dgltree.fit(data, split_of=str(months / "may"), **QUICK)
    known = [i for i, name in enumerate(EarlierSplit.of(months / "may").known(rows(300))) if name == "train"]
    with pytest.raises(ValueError, match="the earlier split puts none of these 20 examples into the validation set"):
        dgltree.fit(rows(300).select(known[:20]), split_of=str(months / "may"), **QUICK)
    with pytest.raises(ValueError, match="holds another training"):
        dgltree.fit(rows(420), split_of=str(months / "may"), out=months / "may", **QUICK)
    assert len(table(months / "may")) == 300


@pytest.mark.slow
def test_paired_differences_recomputed(months: Path) -> None:
    data, models = rows(500), [TrainedModel.load(months / name) for name in ("june", "may")]
    found = compare(
        *(Contender(model, months / name, data) for model, name in zip(models, ("june", "may"), strict=True))
    )
    seen = [{id_ for id_, name in table(months / month).items() if name != "test"} for month in ("may", "june")]
    free = [i for i in range(500) if not any(f"r{i}" in of for of in seen)]
    assert found.examples == len(free) >= 80
    assert found.of == 500
    labels = np.array([data.labels[i] for i in free])
    answers = [model.predict_proba([data[i][0] for i in free]).numpy().astype(float) for model in models]
    classes = np.array(models[0].classes)
    metrics = {
        "accuracy": lambda rows, p: accuracy_score(labels[rows], classes[p[rows].argmax(1)]),
        "macro_f1": lambda rows, p: f1_score(labels[rows], classes[p[rows].argmax(1)], average="macro"),
        "log_loss": lambda rows, p: log_loss(labels[rows], p[rows] / p[rows].sum(1, keepdims=True), labels=classes),
    }
    random = np.random.default_rng(0)
    resamples = [random.integers(len(free), size=len(free)) for _ in range(1000)]
    for name, metric in metrics.items():
        every = np.arange(len(free))
        assert found.new[name] == pytest.approx(metric(every, answers[0]), abs=1e-6)
        assert found.old[name] == pytest.approx(metric(every, answers[1]), abs=1e-6)
        few = resamples if name == "accuracy" else resamples[:1]
        values = [metric(rows, answers[0]) - metric(rows, answers[1]) for rows in few]
        if name == "accuracy":
            assert found.differences[name] == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])), abs=1e-9)
        else:
            assert found.differences[name][0] - 0.2 < values[0] < found.differences[name][1] + 0.2


@pytest.mark.slow
def test_models_of_numbers_are_compared_and_other_kinds_refused(months: Path, tmp_path: Path) -> None:
    drawn = np.random.default_rng(1).integers(1, 99, 320).tolist()
    trees = [Tree("f", (Tree("w", token=str(i)), Tree("q", token=str(q)))) for i, q in enumerate(drawn)]
    numbers = TreeDataset(trees, [f"{q}.5" for q in drawn])
    model = dgltree.fit(numbers.select(range(250)), out=tmp_path / "a", **QUICK)
    found = compare(*[Contender(model, tmp_path / "a", numbers)] * 2)
    assert set(found.new) == {"r2", "rmse", "mae"}
    assert all(ends == (0.0, 0.0) for ends in found.differences.values())
    with pytest.raises(ValueError, match=r"cannot be compared: .*a gives numbers and .*may gives classes"):
        compare(
            Contender(model, tmp_path / "a", numbers),
            Contender(TrainedModel.load(months / "may"), months / "may", numbers),
        )
    with pytest.raises(ValueError, match="no example is left: each of the"):
        trained = [
            i
            for i, name in enumerate(EarlierSplit.of(tmp_path / "a").known(numbers))
            if name in ("train", "validation")
        ]
        kept = numbers.select(trained)
        assert len(kept) < 250
        compare(*[Contender(model, tmp_path / "a", kept.select([*range(len(kept)), *range(250 - len(kept))]))] * 2)


def test_a_folder_that_keeps_no_split_is_not_compared(months: Path, tmp_path: Path) -> None:
    model = TrainedModel.load(months / "may")
    with pytest.raises(ValueError, match=r"there is no split\.tsv in this folder"):
        compare(*[Contender(model, tmp_path, rows(300))] * 2)


def test_metrics_and_what_is_new_by_the_values_of_a_column(months: Path) -> None:
    model = TrainedModel.load(months / "may")
    trees = [
        Tree("f", (Tree("w", token=str(100 + i)), Tree("q", token=str(q))))
        for i, q in enumerate([3000, 9000, 99999, 8000])
    ]
    strange = Tree("new", (Tree("w", token="x"), Tree("q", token="4000")))
    data = TreeDataset(
        [*trees, strange], ["small", "large", "large", "small", "small"], groups=["a", "a", "b", "b", None]
    )
    rows_ = by_column(model, model.dataset(data))
    assert [(row.value, row.examples) for row in rows_] == [("a", 2), ("b", 2), ("(none)", 1)]
    assert [row.outside for row in rows_] == [0.0, 0.25, 0.0]
    assert [row.functions for row in rows_] == pytest.approx([0.0, 0.0, 1 / 3])
    assert [row.tokens for row in rows_][2] == 1.0
    predicted = [model.classes[i] for i in model.predict_proba([*trees, strange]).argmax(1).tolist()]
    right = [name == label for name, label in zip(predicted, data.labels, strict=True)]
    assert [row.metric for row in rows_] == [np.mean(right[:2]), np.mean(right[2:4]), float(right[4])]
    assert all(row.low <= row.metric <= row.high for row in rows_)
    with pytest.raises(ValueError, match="no example has a value in the column of --by"):
        by_column(model, model.dataset(rows(10)))
    with pytest.raises(ValueError, match="has 300 different values, such as 'g0'; a table takes at most 200 values"):
        by_column(model, model.dataset(rows(300, group=1)))


@pytest.mark.slow
def test_the_commands(months: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    drawn = rows(400)
    lines = ["tree\tlabel\tmonth"]
    for i in range(400):
        tree, label = drawn[i]
        w, q = (child.token for child in tree.children)
        lines.append(f"(f (w {w}) (q {q}))\t{label}\t2026-{1 + i // 100:02d}-03")
    (tmp_path / "new.tsv").write_text("\n".join(lines) + "\n")
    assert (
        main(["fit", str(tmp_path / "new.tsv"), "--out", str(tmp_path / "a"), "--epochs", "1", "--hidden-size", "8"])
        == 0
    )
    capsys.readouterr()
    assert main(["evaluate", str(tmp_path / "a"), str(tmp_path / "new.tsv"), "--against", str(tmp_path / "a")]) == 0
    out = capsys.readouterr().out.splitlines()
    tested = list(table(tmp_path / "a").values())  # ids are empty: the last row alone
    assert out[0].endswith("of 400 examples, which were used to train or select neither model")
    assert [line.split("\t")[0] for line in out[1:]] == ["metric", "accuracy", "macro_f1", "log_loss"]
    assert tested
    assert main(["evaluate", str(tmp_path / "a"), str(tmp_path / "new.tsv"), "--by", "month:^....-..", "--json"]) == 0
    assert [row["value"] for row in json.loads(capsys.readouterr().out)] == [f"2026-0{k}" for k in range(1, 5)]
    with pytest.raises(SystemExit):
        main(["evaluate", str(tmp_path / "a"), str(tmp_path / "new.tsv"), "--by", "month", "--against", "x"])
    assert "cannot be combined" in capsys.readouterr().err
    assert torch.is_tensor(TrainedModel.load(tmp_path / "a").predict_proba(["(f (w 1) (q 2))"]))
