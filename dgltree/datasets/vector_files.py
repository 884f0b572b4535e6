"""Which files vectors are written to, known without what takes seconds to import."""

from pathlib import Path


def check_vector_file(path: str | Path, nodes: bool) -> None:
    """``ValueError`` for another suffix than .npy and .parquet, for nodes in a .npy file, and for no folder."""
    kind = Path(path).suffix
    if kind not in (".npy", ".parquet"):
        raise ValueError(f"{path}: vectors are written to a .npy or .parquet file")
    if nodes and kind == ".npy":
        raise ValueError(f"{path}: vectors of nodes need a .parquet file, which also gives the tree of each node")
    if not Path(path).parent.is_dir():
        raise ValueError(f"{path}: there is no folder {Path(path).parent}")
