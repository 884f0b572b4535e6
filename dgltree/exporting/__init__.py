"""Models as ONNX graphs whose inputs are the trees: they run without Python. Needs the extra export."""

from dgltree.exporting.export import Exported

__all__ = ["Exported"]
