"""Convolution by Winograd's minimal filtering, for layers with many channels, in the layout of `conv`.

S. Winograd, "Arithmetic Complexity of Computations", SIAM 1980; A. Lavin and S. Gray, "Fast Algorithms for
Convolutional Neural Networks", CVPR 2016.

*Notation.* r: side of the kernel; m: side of an output tile; n = m + r - 1, 6 or 8: side of an input tile. An output
tile is

    A^T [(G g G^T) * (B^T d B)] A

for a kernel g and an input tile d: one product of channels for each of the n^2 entries of a tile, where a direct
convolution makes m^2 r^2. For r = 5 these are 36 for 100 (n = 6), or 64 for 400 (n = 8). The matrices evaluate and
interpolate polynomials at n - 1 points and at infinity. Numbers grow on the way, so that float32 is less exact than in
a direct convolution.

Each transform has a stage for rows and one for columns. XLA would fuse both, and compute the first again for each
result of the second. A barrier, or a product with a small matrix, keeps them apart.
"""

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Float

POINTS = [Fraction(p) for p in ("0", "1", "-1", "2", "-2", "1/2", "-1/2")]
TILES = (6, 8)  # n
SIDES = (3, 4, 5)  # of kernels
CHANNELS = 32  # with fewer the transforms cost more than they save

Images = Float[Array, "_ _ _ _"]  # channels, height, width, batch
Tiles = Float[Array, "entries channels tiles"]


class Form(NamedTuple):
    """The sides of tiles and kernel.

    Attributes:
        tile: n.
        side: r.
    """

    tile: int
    side: int

    @property
    def step(self) -> int:
        """Return m, the side of an output tile, which is the step between tiles."""
        return self.tile - self.side + 1

    @property
    def reach(self) -> int:
        """Return how many steps an input tile covers."""
        return -(-self.tile // self.step)

    def products(self, height: int, width: int) -> int:
        """Return the number of products of channels for an output of this size."""
        return math.prod(-(-size // self.step) for size in (height, width)) * self.tile**2


def suits(kernel: Float[Array, "rows columns inputs outputs"]) -> bool:
    """Return whether a layer of this shape is faster by Winograd's method."""
    rows, columns, inputs, outputs = kernel.shape
    return rows == columns and rows in SIDES and min(inputs, outputs) >= CHANNELS


def conv2d(
    x: Float[Array, "inputs _ _ batch"], kernel: Float[Array, "side side inputs outputs"]
) -> Float[Array, "outputs _ _ batch"]:
    """Return the cross-correlation with stride 1 and no padding, as `conv.conv2d` does."""
    side = kernel.shape[0]
    height, width = x.shape[1] - side + 1, x.shape[2] - side + 1
    # where both make as many products, `min` takes the first: the smaller tile, which is more exact
    form = min((Form(tile, side) for tile in TILES), key=lambda form: form.products(height, width))
    over = [form.step * (-(-size // form.step) + form.reach - 1) for size in (height, width)]  # whole tiles and steps
    padded = jnp.pad(x, ((0, 0), (0, over[0] - x.shape[1]), (0, over[1] - x.shape[2]), (0, 0)))
    y: Images = _tiled(form, padded, kernel)
    return y[:, :height, :width]


def _expanded(roots: Sequence[Fraction]) -> list[Fraction]:
    """Return the coefficients of the polynomial with these roots and leading coefficient 1, the constant first."""
    found = [Fraction(1)]
    for root in roots:
        found = [a - root * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return found


@functools.cache
def _matrices(form: Form) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A^T, (m, n), G, (n, r), and B^T, (n, n), of the Toom-Cook algorithm."""
    points = POINTS[: form.tile - 1]
    output = [[p**power for p in points] + [int(power == form.step - 1)] for power in range(form.step)]
    kernel, inputs = [], []
    for p in points:
        others = [q for q in points if q != p]
        scale = math.prod(p - q for q in others)
        kernel.append([p**power / scale for power in range(form.side)])
        inputs.append([*_expanded(others), 0])
    kernel.append([0] * (form.side - 1) + [1])
    inputs.append(_expanded(points))
    return np.array(output, float), np.array(kernel, float), np.array(inputs, float)


def _mixed(weights: np.ndarray, parts: Sequence[Array]) -> Array:
    """Return a weighted sum, without the parts of weight 0."""
    terms = [
        part if w == 1 else -part if w == -1 else float(w) * part for w, part in zip(weights, parts, strict=True) if w
    ]
    return functools.reduce(jnp.add, terms)


def _apart(x: Array) -> Array:
    return lax.optimization_barrier(x)


def _along_first(matrix: np.ndarray, x: Array) -> Array:
    """Return the product of a matrix and the first axis of `x`, which XLA computes once."""
    return (jnp.asarray(matrix, x.dtype) @ x.reshape(x.shape[0], -1)).reshape(len(matrix), *x.shape[1:])


def _of_kernel(form: Form, kernel: Float[Array, "side side inputs outputs"]) -> Float[Array, "entries outputs inputs"]:
    """Return G g G^T."""
    g = jnp.asarray(_matrices(form)[1], kernel.dtype)
    both = jnp.einsum("ui,vj,ijco->uvoc", g, g, kernel)
    return _apart(both.reshape(form.tile**2, kernel.shape[3], kernel.shape[2]))


def _of_input(form: Form, x: Images) -> Tiles:
    """Return B^T d B of all tiles."""
    step, matrix = form.step, _matrices(form)[2]
    channels, height, width, batch = x.shape
    down, across = height // step - form.reach + 1, width // step - form.reach + 1
    phases = x.reshape(channels, height // step, step, width // step, step, batch)
    lines = [phases[:, i // step : i // step + down, i % step] for i in range(form.tile)]
    rows = _apart(jnp.stack([_mixed(weights, lines) for weights in matrix]))
    places = [rows[:, :, :, j // step : j // step + across, j % step] for j in range(form.tile)]
    both = jnp.stack([_mixed(weights, places) for weights in matrix], 1)
    return _apart(both.reshape(form.tile**2, channels, -1))


def _input_gradient(form: Form, tiles: Tiles, shape: tuple[int, ...]) -> Images:
    """Return the transpose of `_of_input`: gradients of overlapping tiles, added up."""
    step, reach, matrix = form.step, form.reach, _matrices(form)[2].T
    channels, height, width, batch = shape
    down, across = height // step - reach + 1, width // step - reach + 1

    def together(lines: Array, axis: int) -> Array:
        """Return the lines of an input along an axis, from those of tiles, which come first."""
        phases = []
        for phase in range(step):
            found = []
            for turn, place in enumerate(range(phase, form.tile, step)):
                around = [(0, 0)] * (lines.ndim - 1)
                around[axis] = (turn, reach - 1 - turn)
                found.append(jnp.pad(lines[place], around))
            phases.append(functools.reduce(jnp.add, found))
        return jnp.stack(phases, axis + 1)

    rows = _along_first(matrix, tiles.reshape(form.tile, form.tile, channels, down, across, batch))
    columns = _along_first(matrix, together(rows, 2).reshape(form.tile, channels, height, across, batch))
    return _apart(together(columns, 2).reshape(shape))


def _output(form: Form, products: Tiles, down: int, across: int) -> Images:
    """Return A^T M A of all tiles, put together."""
    matrix, outputs, step = _matrices(form)[0], products.shape[1], form.step
    rows = _along_first(matrix, products.reshape(form.tile, form.tile, outputs, down, across, -1))
    both = [[_mixed(weights, list(row)) for weights in matrix] for row in rows]
    lines = jnp.stack([jnp.stack(row, 3) for row in both], 2)
    return _apart(lines.reshape(outputs, step * down, step * across, -1))


def _output_gradient(form: Form, g: Images) -> Tiles:
    """Return the transpose of `_output`."""
    matrix, step = _matrices(form)[0].T, form.step
    outputs, height, width, batch = g.shape
    phases = g.reshape(outputs, height // step, step, width // step, step, batch)
    rows = _apart(jnp.stack([_mixed(weights, [phases[:, :, a] for a in range(step)]) for weights in matrix]))
    both = jnp.stack([_mixed(weights, [rows[:, :, :, :, b] for b in range(step)]) for weights in matrix], 1)
    return _apart(both.reshape(form.tile**2, outputs, -1))


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _tiled(form: Form, x: Images, kernel: Float[Array, "side side inputs outputs"]) -> Images:
    """Return the convolution of images that whole tiles cover."""
    return _forward(form, x, kernel)[0]


def _forward(form: Form, x: Images, kernel: Array) -> tuple[Images, tuple[Tiles, Array]]:
    down, across = (size // form.step - form.reach + 1 for size in x.shape[1:3])
    weights, tiles = _of_kernel(form, kernel), _of_input(form, x)
    products = jnp.einsum("poi,pit->pot", weights, tiles)
    return _output(form, products, down, across), (tiles, weights)


def _backward(form: Form, residual: tuple[Tiles, Array], g: Images) -> tuple[Images, Array]:
    tiles, weights = residual
    told = _output_gradient(form, _apart(g))
    inputs = tiles.shape[1]
    d_weights = jnp.einsum("pot,pit->poi", told, tiles).reshape(form.tile, form.tile, -1, inputs)
    matrix = jnp.asarray(_matrices(form)[1], g.dtype)
    d_kernel = jnp.einsum("ui,vj,uvoc->ijco", matrix, matrix, d_weights)
    spread = jnp.einsum("poi,pot->pit", weights, told)
    shape = (inputs, *(size + form.step * (form.reach - 1) for size in g.shape[1:3]), g.shape[3])
    return _input_gradient(form, spread, shape), d_kernel


_tiled.defvjp(_forward, _backward)
