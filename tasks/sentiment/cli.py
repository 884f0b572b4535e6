"""The command: ``python -m tasks.sentiment fit|validate|test --config FILE``."""

from pathlib import Path

from lightning.pytorch.cli import LightningArgumentParser

from dgltree.read.glove import read_glove
from tasks.cli import TaskCLI, run
from tasks.sentiment.data import SentimentTreebank
from tasks.sentiment.model import SentimentClassifier


class SentimentCLI(TaskCLI):
    """Chooses the epoch at the roots of the validation trees, ``dev.txt``; words may begin with GloVe's vectors."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        super().add_arguments_to_parser(parser)
        parser.link_arguments("data.classes", "model.classes")
        parser.add_argument("--glove", type=Path | None, help="begin with the word vectors of this GloVe text file")

    def before_fit(self) -> None:
        file = self.config.fit.glove
        if file:
            found = read_glove(file, self.datamodule.vocabulary.tokens, self.model.words.shape[1])
            self.model.begin_with(found)
            print(f"{file.name}: {found.coverage(self.datamodule.counts)}")


def main(arguments: list[str] | None = None) -> None:
    """Run the program's command line."""
    run(
        SentimentClassifier,
        SentimentTreebank,
        "accuracy",
        SentimentCLI,
        program="python -m tasks.sentiment",
        arguments=arguments,
    )
