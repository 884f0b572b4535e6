"""Modules by their names before 0.3.0, as far as pages showed them.

An import of one, or a pickle that names one, raises an error with the new name.
"""

import sys

MOVED = {
    "dgltree.algebra": "dgltree.equations.algebra",
    "dgltree.algebra.child": "dgltree.equations.algebra.client",
    "dgltree.cells.step": "dgltree.engine.executor",
    "dgltree.cells.stack": "dgltree.cells.stack_cell",
    "dgltree.encoders.encoded": "dgltree.encoders.encoder",
    "dgltree.encoders.latent.chunks": "dgltree.encoders.latent.joining_core",
    "dgltree.encoders.latent.core": "dgltree.encoders.latent.joining_core",
    "dgltree.encoders.latent.pair_attention": "dgltree.encoders.latent.gated_attention",
    "dgltree.encoders.latent.parent_attention": "dgltree.encoders.latent.gated_attention",
    "dgltree.engine.kernels.choice": "dgltree.engine.kernels.dispatch",
    "dgltree.equations.checking": "dgltree.equations.marking",
    "dgltree.equations.checking.checker": "dgltree.equations.marking.checker",
    "dgltree.equations.checking.points": "dgltree.equations.marking.marks",
    "dgltree.equations.checking.sentences": "dgltree.equations.marking.sentences",
    "dgltree.equations.checking.timed": "dgltree.equations.marking.check",
    "dgltree.plotting.effects": "dgltree.plotting.trees",
    "dgltree.ranking.batch_completion": "dgltree.ranking.completion",
    "dgltree.ranking.probabilities": "dgltree.ranking.ranker",
    "dgltree.read.glove": "dgltree.datasets.glove",
    "dgltree.read.latex_writer": "dgltree.equations.typed.latex_writer",
    "dgltree.read.networkx": "dgltree.read.graphs",
    "dgltree.read.smiles_atoms": "dgltree.read.smiles",
    "dgltree.read.typed": "dgltree.equations.typed",
}


class MovedModules:
    """A finder of ``sys.meta_path`` that finds no module; it names the new one of a module, or package, that moved."""

    @staticmethod
    def find_spec(fullname: str, path: object, target: object = None) -> None:
        if fullname in MOVED:
            raise ModuleNotFoundError(f"{fullname} is now {MOVED[fullname]}", name=fullname)


def tell_moved_modules() -> None:
    """Ask this finder after all others, which have not found the module."""
    sys.meta_path.append(MovedModules)
