"""Convolution by Winograd's minimal filtering, for layers with many channels, in the layout of `conv`.

S. Winograd, "Arithmetic Complexity of Computations", SIAM 1980; A. Lavin and S. Gray, "Fast Algorithms for
Convolutional Neural Networks", CVPR 2016.

*Notation.* r: side of the kernel; m: side of an output tile; n = m + r - 1 = 6: side of an input tile. An output tile
is

    A^T [(G g G^T) * (B^T d B)] A

for a kernel g and an input tile d: one product of channels for each of the 36 entries of a tile, where a direct
convolution makes m^2 r^2: 100 for r = 5, 144 for r = 3. The matrices evaluate and interpolate polynomials at 0, 1, -1,
2, -2 and infinity. Numbers grow on the way, so that float32 is less exact than in a direct convolution.

Each transform has a stage for rows and one for columns, with a barrier between them: XLA would otherwise fuse both into
36 loops that compute the first stage again and again.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Float

TILE = 6  # n
POINTS = np.array([0.0, 1.0, -1.0, 2.0, -2.0])
INPUT = np.array(  # B^T
    [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0],
     [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0], [0, 4, 0, -5, 0, 1]]
)  # fmt: skip
SIDES = (3, 4, 5)  # of kernels
CHANNELS = 32  # with fewer the transforms cost more than they save

Images = Float[Array, "_ _ _ _"]  # channels, height, width, batch
Tiles = Float[Array, "36 channels tiles"]


def suits(kernel: Float[Array, "rows columns inputs outputs"]) -> bool:
    """Return whether a layer of this shape is faster by Winograd's method."""
    rows, columns, inputs, outputs = kernel.shape
    return rows == columns and rows in SIDES and min(inputs, outputs) >= CHANNELS


def conv2d(
    x: Float[Array, "inputs _ _ batch"], kernel: Float[Array, "side side inputs outputs"]
) -> Float[Array, "outputs _ _ batch"]:
    """Return the cross-correlation with stride 1 and no padding, as `conv.conv2d` does."""
    side, wide = kernel.shape[0], TILE + 1 - kernel.shape[0]
    height, width = x.shape[1] - side + 1, x.shape[2] - side + 1
    over = [wide * (-(-size // wide) + _reach(wide) - 1) for size in (height, width)]  # whole tiles, and whole steps
    padded = jnp.pad(x, ((0, 0), (0, over[0] - x.shape[1]), (0, over[1] - x.shape[2]), (0, 0)))
    return _tiled(padded, kernel)[:, :height, :width]


def _reach(wide: int) -> int:
    """Return how many steps of an output tile an input tile covers."""
    return -(-TILE // wide)


@functools.cache
def _matrices(side: int) -> tuple[np.ndarray, np.ndarray]:
    """Return G, (n, r), and A^T, (m, n)."""
    wide = TILE + 1 - side
    scale = np.array([1 / 4, -1 / 6, -1 / 6, 1 / 24, 1 / 24])
    kernel = np.zeros((TILE, side))
    kernel[:-1] = scale[:, None] * POINTS[:, None] ** np.arange(side)
    kernel[-1, -1] = 1
    output = np.zeros((wide, TILE))
    output[:, :-1] = POINTS ** np.arange(wide)[:, None]
    output[-1, -1] = 1
    return kernel, output


def _mixed(weights: np.ndarray, parts: Sequence[Array]) -> Array:
    """Return a weighted sum, without the parts of weight 0."""
    terms = [
        part if w == 1 else -part if w == -1 else float(w) * part for w, part in zip(weights, parts, strict=True) if w
    ]
    return functools.reduce(jnp.add, terms)


def _apart(tree: Sequence[Array]) -> list[Array]:
    return list(lax.optimization_barrier(tuple(tree)))


def _of_kernel(kernel: Float[Array, "side side inputs outputs"]) -> Float[Array, "36 outputs inputs"]:
    """Return G g G^T."""
    g = jnp.asarray(_matrices(kernel.shape[0])[0], kernel.dtype)
    both = jnp.einsum("ui,vj,ijco->uvoc", g, g, kernel)
    return both.reshape(TILE * TILE, kernel.shape[3], kernel.shape[2])


def _of_input(x: Images, wide: int) -> Tiles:
    """Return B^T d B of all tiles."""
    channels, height, width, batch = x.shape
    down, across = height // wide - _reach(wide) + 1, width // wide - _reach(wide) + 1
    phases = x.reshape(channels, height // wide, wide, width // wide, wide, batch)
    lines = [phases[:, i // wide : i // wide + down, i % wide] for i in range(TILE)]
    (rows,) = _apart([jnp.stack([_mixed(INPUT[u], lines) for u in range(TILE)])])
    places = [rows[:, :, :, j // wide : j // wide + across, j % wide] for j in range(TILE)]
    both = jnp.stack([_mixed(INPUT[v], places) for v in range(TILE)], 1)
    (tiles,) = _apart([both.reshape(TILE * TILE, channels, -1)])
    return tiles


def _input_gradient(tiles: Sequence[Array], shape: tuple[int, ...], wide: int) -> Images:
    """Return the transpose of `_of_input`: gradients of overlapping tiles, added up."""
    channels, height, width, batch = shape
    reach = _reach(wide)
    down, across = height // wide - reach + 1, width // wide - reach + 1
    parts = [tile.reshape(channels, down, across, batch) for tile in tiles]

    def spread(parts: Sequence[Array], axis: int) -> Array:
        """Return the lines of the input along an axis: those of one phase are one step apart."""
        lines = []
        for phase in range(wide):
            found = []
            for step in range(reach):
                if (place := wide * step + phase) < TILE:
                    around = [(0, 0)] * parts[0].ndim
                    around[axis] = (step, reach - 1 - step)
                    found.append(jnp.pad(_mixed(INPUT[:, place], parts), around))
            lines.append(functools.reduce(jnp.add, found))
        return jnp.stack(lines, axis + 1)

    rows = _apart([spread(parts[TILE * u : TILE * (u + 1)], 2) for u in range(TILE)])
    return spread(rows, 1).reshape(shape)


def _output(products: Sequence[Array], down: int, across: int, side: int) -> Images:
    """Return A^T M A of all tiles, put together."""
    matrix, outputs = _matrices(side)[1], products[0].shape[0]
    parts = [product.reshape(outputs, down, across, -1) for product in products]
    wide = len(matrix)
    rows = _apart([_mixed(row, parts[v::TILE]) for row in matrix for v in range(TILE)])
    lines = [jnp.stack([_mixed(row, rows[TILE * a : TILE * (a + 1)]) for row in matrix], 3) for a in range(wide)]
    return jnp.stack(lines, 2).reshape(outputs, wide * down, wide * across, -1)


def _output_gradient(g: Images, side: int) -> Tiles:
    """Return the transpose of `_output`."""
    matrix = _matrices(side)[1]
    wide = len(matrix)
    outputs, height, width, batch = g.shape
    phases = g.reshape(outputs, height // wide, wide, width // wide, wide, batch)
    (rows,) = _apart([jnp.stack([_mixed(matrix[:, u], [phases[:, :, a] for a in range(wide)]) for u in range(TILE)])])
    both = jnp.stack([_mixed(matrix[:, v], [rows[:, :, :, :, b] for b in range(wide)]) for v in range(TILE)], 1)
    (tiles,) = _apart([both.reshape(TILE * TILE, outputs, -1)])
    return tiles


@jax.custom_vjp
def _tiled(x: Images, kernel: Float[Array, "side side inputs outputs"]) -> Images:
    """Return the convolution of images that whole tiles cover."""
    return _tiled_forward(x, kernel)[0]


def _tiled_forward(x: Images, kernel: Array) -> tuple[Images, tuple[Tiles, Array, Array]]:
    side = kernel.shape[0]
    wide = TILE + 1 - side
    down, across = (size // wide - _reach(wide) + 1 for size in x.shape[1:3])
    (weights,), tiles = _apart([_of_kernel(kernel)]), _of_input(x, wide)
    products = _apart([weights[p] @ tiles[p] for p in range(TILE * TILE)])  # one batched product is slower on a CPU
    (y,) = _apart([_output(products, down, across, side)])
    return y, (tiles, weights, kernel)


def _tiled_backward(residual: tuple[Tiles, Array, Array], g: Images) -> tuple[Images, Array]:
    tiles, weights, kernel = residual
    side, inputs = kernel.shape[0], kernel.shape[2]
    wide = TILE + 1 - side
    (g,) = _apart([g])
    told = _output_gradient(g, side)
    d_weights = jnp.stack([told[p] @ tiles[p].T for p in range(TILE * TILE)]).reshape(TILE, TILE, -1, inputs)
    matrix = jnp.asarray(_matrices(side)[0], g.dtype)
    d_kernel = jnp.einsum("ui,vj,uvoc->ijco", matrix, matrix, d_weights)
    spread = _apart([weights[p].T @ told[p] for p in range(TILE * TILE)])
    shape = (inputs, *(size + wide * (_reach(wide) - 1) for size in g.shape[1:3]), g.shape[3])
    (d_x,) = _apart([_input_gradient(spread, shape, wide)])
    return d_x, d_kernel


_tiled.defvjp(_tiled_forward, _tiled_backward)
