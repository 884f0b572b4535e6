"""Language models: their numbers, whatever else is in the batch, and their files."""

from itertools import pairwise
from pathlib import Path

import pytest
import torch

from dgltree import Vocabulary, load
from dgltree.models import LanguageModel, load_language_model, save_language_model

WORDS = Vocabulary((), ["<eos>", "<unk>", "the", "cat", "sleeps", "here"], unk=True)
SENTENCES = [["the", "cat", "sleeps"], ["here"], ["the", "dog", "sleeps", "here", "the"], []]


def make(layers: str = "on_lstm", **options: float) -> LanguageModel:
    torch.manual_seed(0)
    model = LanguageModel(WORDS, layers, (12, 6), {"chunk_size": 3} if layers == "on_lstm" else None, **options)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    return model.double().eval()


@pytest.mark.parametrize("layers", ["on_lstm", "lstm"])
def test_the_probability_of_a_sentence_is_the_product_of_those_of_its_words(layers: str) -> None:
    model = make(layers)
    found = model.log_probabilities(SENTENCES)
    for sentence, log_probability in zip(SENTENCES, found.tolist(), strict=True):
        ids, state, expected = model.ids(sentence), None, 0.0
        for word, following in pairwise(ids):
            steps = model(torch.tensor([[word]]), None, state)
            state = steps.state
            probabilities = (model.embedding.weight @ steps.states[0, 0] + model.bias).softmax(0)
            expected += float(probabilities[following].detach().log())
        assert log_probability == pytest.approx(expected, rel=1e-6)


def test_distances_are_those_of_the_words_alone() -> None:
    model = make()
    [d] = model.distances(SENTENCES[:1])
    torch.testing.assert_close(d, model(torch.tensor([model.ids(SENTENCES[0])])).d[0, 1:-1])
    with pytest.raises(ValueError, match="the layers are 'lstm', which compute no distances; use on_lstm"):
        make("lstm").distances(SENTENCES)


def test_unknown_words_are_known_to_be_unknown() -> None:
    model = make()
    assert model.ids(["the", "dog"]) == [0, 2, 1, 0]
    assert [model.unknown(words) for words in (["the"], ["dog"], ["<unk>"])] == [False, True, True]


def test_whole_words_are_left_out_in_all_rows_in_training_alone() -> None:
    model, ids = make(word_dropout=0.5), torch.arange(6).repeat(2, 3)
    assert torch.equal(model._vectors(ids), model.embedding(ids))
    model.train()
    torch.manual_seed(0)
    found = model._vectors(ids)
    kept = found[0, :6, 0] != 0
    assert 0 < kept.sum() < 6
    torch.testing.assert_close(found, model.embedding(ids) * 2 * kept.repeat(3)[None, :, None])


def test_each_dropout_has_its_place() -> None:
    ids = torch.arange(6).repeat(4, 3)
    for name in ("word", "input", "layer", "output", "weight"):
        model = make(**{f"{name}_dropout": 0.5}).train()
        torch.manual_seed(0)
        first, second = model(ids).states, model(ids).states
        assert torch.equal(first, second) == (name == "output"), name
        assert torch.equal(model.logits(first), model.logits(first)) == (name != "output")
    assert torch.equal(make(input_dropout=0.5)(ids).states, make()(ids).states)


def test_a_softmax_of_its_own_is_not_that_of_the_vectors(tmp_path: Path) -> None:
    model = make(tied=False)
    tied, own = (sum(p.numel() for p in each.parameters()) for each in (make(), model))
    assert own == tied + 6 * len(WORDS.tokens)
    states = torch.randn(2, 3, 6, dtype=model.bias.dtype)
    by_hand = states @ model.softmax.T + model.bias
    torch.testing.assert_close(model.logits(states), by_hand)
    model.logits(states).sum().backward()
    assert model.embedding.weight.grad is None
    save_language_model(model, tmp_path / "m.safetensors")
    read = load_language_model(tmp_path / "m.safetensors")
    assert torch.equal(read.log_probabilities(SENTENCES), model.eval().log_probabilities(SENTENCES))
    assert "tied" not in make().config, "files of before lack it"


def test_other_files_and_settings_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.safetensors"
    save_language_model(make(), file)
    with pytest.raises(ValueError, match=r"a language model; use dgltree\.models.load_language_model"):
        load(file)
    shipped = Path(__file__).parents[2] / "dgltree" / "data" / "logic.safetensors"
    with pytest.raises(ValueError, match=r"a model of trees, not a language model; use dgltree\.load"):
        load_language_model(shipped)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"do not match their hash"):
        load_language_model(file)
    for given, error in (
        ({"layers": "gru"}, "the layers are 'gru'; they must be one of on_lstm, lstm"),
        ({"layers": "lstm", "options": {"chunk_size": 2}}, "lstm: .*chunk_size"),
        ({"sizes": ()}, "the number of layers is 0"),
        ({"word_dropout": 1.0}, "dropout is 1.0"),
    ):
        with pytest.raises(ValueError, match=error):
            LanguageModel(WORDS, **given)
    with pytest.raises(ValueError, match="the vocabulary lacks <eos>"):
        LanguageModel(Vocabulary((), ["a"]))
