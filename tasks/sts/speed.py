"""The command: ``python -m tasks.sts.speed``; measure Banyan's passes and a training step in CPU seconds."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch

from dgltree import Vocabulary
from dgltree.encoders.latent.easy_first import easy_first
from dgltree.models import make_autoencoder
from tasks.sts.data import pad


def main(arguments: Sequence[str]) -> None:
    """Run the program's command line."""
    parser = argparse.ArgumentParser(prog="python -m tasks.sts.speed", description=__doc__, allow_abbrev=False)
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--times", type=int, default=4)
    options = parser.parse_args(arguments)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    path = Path(os.environ.get("DGLTREE_DATA", "data")) / "sts" / "small_train.txt"
    sentences = [line.split() for line in path.read_text(encoding="utf-8").splitlines()[: options.sentences]]
    words = sorted({word for sentence in sentences for word in sentence})
    print(f"{len(sentences)} sentences, {sum(map(len, sentences)):,} words, {len(words):,} different")
    model = make_autoencoder("banyan", Vocabulary([("phrase", 2), ("word", 0)], words))
    optimizer = torch.optim.Adam(model.parameters())
    ids, lengths = pad(sentences, model.vocabulary)
    for _ in range(options.times):
        times = [time.process_time()]
        easy_first(model.up, ids, lengths, entangled=True)
        times.append(time.process_time())
        swept = model.sentences(ids, lengths)
        times.append(time.process_time())
        optimizer.zero_grad()
        model(swept).backward()
        optimizer.step()
        times.append(time.process_time())
        up, both, rest = (after - before for before, after in pairwise(times))
        step = f"up and down {both:.2f} s, a whole step {both + rest:.2f} s"
        print(f"{swept.batch.num_nodes:,} nodes: up {up:.2f} s, {step}")


if __name__ == "__main__":
    main(sys.argv[1:])
