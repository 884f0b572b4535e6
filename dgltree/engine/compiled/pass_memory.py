"""Where the arrays of a pass lie that each program has for itself: rows of products, and what is held.

All that does not depend on a pass is found once for a plan: sizes, strides, and offsets from the beginning of a region.
A region is one piece of memory that a pass brings: the products of the way forward, those of the way back, a tensor
that programs hold, its gradient. A pass then adds its addresses, one a region.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from dgltree.engine.compiled.driver import WEIGHT_PRODUCT
from dgltree.engine.compiled.held_tensors import HeldPlace
from dgltree.engine.compiled.programs import NodeProgram, Product
from dgltree.engine.compiled.rows import Numbers, ProgramRuns

ALIGNED = 16
"""Numbers: where a product begins is a multiple of so many."""
CHUNK_ROWS = 4096
"""Rows above which the gradient of a matrix is the sum of several chunks, which threads share."""
MOST_CHUNKS = 8
"""Chunks of a matrix at most: each needs memory for a gradient."""
NOWHERE, FORWARD, BACKWARD, CHUNKS, FIRST_HELD = range(5)
"""Regions: none; products of each way; chunks of the gradients of matrices; then what is held."""
INTO = WEIGHT_PRODUCT.index("into")
SIZES = WEIGHT_PRODUCT.index("rows")
BASE, STRIDE, LENGTH, COPY = range(4)
"""What is kept of an array: where it begins, its columns, its rows, and the bytes from one part's to the next one's."""


class ProductSide(NamedTuple):
    """One of two matrices of rows that are multiplied."""

    region: int
    offset: int
    columns: int


class WeightProduct(NamedTuple):
    """The gradient of a matrix that some rows were multiplied by: ``into += left^T right``."""

    region: int
    """The region of the gradient."""
    offset: int
    rows: int
    left: ProductSide
    right: ProductSide


class GradientChunk(NamedTuple):
    """A part of the gradient of a matrix, in numbers of a region of chunks, and where it is added."""

    first: int
    size: int
    region: int
    into: int


class PassMemory:
    """The arrays of programs.

    Args:
        programs: of the pass.
        names: of the arrays of the code, as each program has them.
        runs: their rows.
        places: what each holds.
        shapes: of the tensors that they hold.
        keeps: whether products are kept for a backward pass. Otherwise each run has the memory of the one before,
            which is in a cache.
    """

    def __init__(
        self,
        programs: Sequence[NodeProgram],
        names: Sequence[Sequence[str]],
        runs: ProgramRuns,
        places: Sequence[Sequence[HeldPlace]],
        shapes: Sequence[tuple[int, ...]],
        keeps: bool,
    ) -> None:
        self.runs = runs
        self.shapes = shapes
        self.keeps = keeps
        self.item = programs[0].dtype.itemsize
        self.index: dict[str, tuple[int | slice, int]] = {}
        """Array to its programs, all of them for an array of the pass, and its number."""
        for number, of_program in enumerate(names):
            for array, name in enumerate(of_program):
                self.index[name] = (slice(None) if name in self.index else number), array
        size = len(programs), len(names[0])
        self.table = np.zeros((4, *size), np.int64)
        self.region = np.zeros(size, np.int64)
        self.offset = np.zeros(size, np.int64)
        self.regions = FIRST_HELD + 3 * len(shapes)
        """How many there are."""
        self.sizes = {FORWARD: 0, BACKWARD: 0, CHUNKS: 0}
        """Numbers of those that are scratch memory."""
        self.gradients: dict[int, int] = {}
        """The regions of the gradients of tensors, and the numbers of these."""
        self.added: set[int] = set()
        """Regions of gradients to which functions of rows add, so that each part needs a copy."""
        self.chunks: list[GradientChunk] = []
        self.fields = [name for name in self.index if name.startswith(("d node ", "d edge "))]
        """The gradients of fields that functions of rows write."""
        for number, program in enumerate(programs):
            self._place_products(number, program)
            for k, place in enumerate(places[number]):
                self._place_held(number, k, place)
        products: list[WeightProduct] = []
        if self.sizes[BACKWARD]:
            for number, program in enumerate(programs):
                for k, product in enumerate(program.products):
                    products += self._weight_products(number, k, product, places[number][product.weight])
        products.sort(key=lambda each: (each.region, each.offset))
        self.weights = WeightProducts(products)

    # -----------------------------------------------------------------------------------------------------------------
    # Where arrays are.

    def held_region(self, tensor: int) -> int:
        """The region of a tensor that programs hold."""
        return FIRST_HELD + tensor

    def gradient_region(self, place: HeldPlace) -> int:
        """The region of a tensor's gradient: one for those who hold all of it, one for those who hold an entry."""
        return FIRST_HELD + len(self.shapes) * (1 if place.entry is None else 2) + place.tensor

    def _put(self, name: str, region: int, offset: int, columns: int, rows: int) -> None:
        if name in self.index:
            index = self.index[name]
            self.region[index] = region
            self.offset[index] = offset
            self.table[STRIDE][index] = columns
            self.table[LENGTH][index] = rows

    def _place_products(self, program: int, of: NodeProgram) -> None:
        sizes = self.sizes if self.keeps else {FORWARD: 0, BACKWARD: 0}
        for k, product in enumerate(of.products):
            rows_of = self.runs.size if self.keeps else self.runs.most
            rows = rows_of(program, product.space) * len(product.rows)
            for kind, region, columns in (
                ("input", FORWARD, product.fan_in),
                ("product", FORWARD, product.fan_out),
                ("product_input", BACKWARD, product.fan_in),
                ("d product", BACKWARD, product.fan_out),
            ):
                name = f"{kind} {program} {k}"
                if name in self.index:
                    self._put(name, region, sizes[region] * self.item, columns, rows)
                    sizes[region] += -(-rows * columns // ALIGNED) * ALIGNED
        self.sizes[FORWARD] = max(self.sizes[FORWARD], sizes[FORWARD])

    def _place_held(self, program: int, k: int, place: HeldPlace) -> None:
        shape = self.shapes[place.tensor]
        own = shape if place.entry is None else shape[1:]
        rows, columns = own if len(own) == 2 else (1, prod(own))
        offset = (place.entry or 0) * prod(own) * self.item
        gradient = self.gradient_region(place)
        self.gradients[gradient] = place.tensor
        self._put(f"held {program} {k}", self.held_region(place.tensor), offset, columns, rows)
        self._put(f"d held {program} {k}", gradient, offset, columns, rows)
        if f"d held {program} {k}" in self.index:
            self.added.add(gradient)

    # -----------------------------------------------------------------------------------------------------------------
    # The gradients of matrices.

    def _weight_products(self, program: int, k: int, product: Product, place: HeldPlace) -> list[WeightProduct]:
        """Find the gradient of a product's matrix, in chunks where it has many rows."""
        size = prod(product.shape)
        region = self.gradient_region(place)
        into = (place.entry or 0) * size
        sides = [("input", FORWARD, product.fan_in), ("d product", BACKWARD, product.fan_out)]
        if product.is_turned:
            sides.reverse()
        rows = self.runs.size(program, product.space) * len(product.rows)
        count = min(MOST_CHUNKS, max(1, rows // CHUNK_ROWS))
        found = []
        for number in range(count):
            low = rows * number // count
            high = rows * (number + 1) // count
            left, right = (
                ProductSide(
                    of, int(self.offset[self.index[f"{kind} {program} {k}"]]) + low * columns * self.item, columns
                )
                for kind, of, columns in sides
            )
            if number == 0:
                found.append(WeightProduct(region, into * self.item, high - low, left, right))
                continue
            first = self.sizes[CHUNKS]
            self.sizes[CHUNKS] += size
            self.chunks.append(GradientChunk(first, size, region, into))
            found.append(WeightProduct(CHUNKS, first * self.item, high - low, left, right))
        return found


class WeightProducts:
    """Products in columns, those with one result one after another."""

    def __init__(self, products: Sequence[WeightProduct]) -> None:
        def column(numbers: Sequence[int]) -> Numbers:
            return np.array(numbers, np.int64)

        self.region = column([each.region for each in products])
        self.offset = column([each.offset for each in products])
        self.left_region = column([each.left.region for each in products])
        self.left_offset = column([each.left.offset for each in products])
        self.right_region = column([each.right.region for each in products])
        self.right_offset = column([each.right.offset for each in products])
        self.columns: Numbers = np.zeros((len(products), len(WEIGHT_PRODUCT)), np.int64)
        """Without addresses."""
        for number, each in enumerate(products):
            self.columns[number, SIZES:] = each.rows, each.left.columns, each.right.columns

    def table(self, begins: Numbers) -> Numbers:
        """(products, columns) of those that somebody wants: see ``WEIGHT_PRODUCT``.

        Args:
            begins: (regions,), their addresses, 0 for what is not there.
        """
        into = begins[self.region]
        table = self.columns.copy()
        table[:, 0] = begins[self.left_region] + self.left_offset
        table[:, 1] = begins[self.right_region] + self.right_offset
        table[:, INTO] = into + self.offset
        return table[into != 0]
