"""Convolution and max-pooling with custom gradients, in the layout (channels, height, width, batch).

A client trains on a few dozen images with weights of its own. Vectorised over clients, XLA's convolution becomes a
grouped one; in a loop on a CPU its gradients get a layout that is many times slower; and the gradient of
`reduce_window` is a scatter. Here everything is shifted slices and one matrix product, forward and backward: the
same program on every lane. The batch is the last axis, so that a shift moves whole rows of numbers. Wide layers are
convolved by Winograd's method (`winograd`).
"""

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from jfed.core.once import once
from jfed.models import winograd

Images = Float[Array, "_ _ _ _"]  # channels, height, width, batch
Kernel = Float[Array, "rows columns inputs outputs"]


def conv2d(x: Float[Array, "inputs _ _ batch"], kernel: Kernel) -> Float[Array, "outputs _ _ batch"]:
    """Return the cross-correlation with stride 1 and no padding (pad `x` beforehand for other paddings)."""
    return winograd.conv2d(x, kernel) if winograd.suits(kernel) else direct(x, kernel)


@jax.custom_vjp
def direct(x: Float[Array, "inputs _ _ batch"], kernel: Kernel) -> Float[Array, "outputs _ _ batch"]:
    """Return the cross-correlation by matrix products of shifted slices."""
    rows, columns, _, outputs = kernel.shape
    if _unfolds_rows(kernel):
        height, width, batch = x.shape[1] - rows + 1, x.shape[2] - columns + 1, x.shape[3]
        return (kernel.reshape(-1, outputs).T @ _windows(x, kernel)).reshape(outputs, height, width, batch)
    width = x.shape[2] - columns + 1
    wide = kernel.transpose(0, 3, 1, 2).reshape(rows * outputs, -1) @ _windows(x, kernel)
    wide = wide.reshape(rows, outputs, x.shape[1], width, -1)
    return sum(wide[i, :, i : i + x.shape[1] - rows + 1] for i in range(rows))  # type: ignore[return-value]


def _unfolds_rows(kernel: Kernel) -> bool:
    """Return whether windows hold whole patches rather than single rows of them.

    With few inputs whole patches are small. With many, the product is taken for all rows of the kernel at once and its
    rows are added afterwards: some products are wasted at the border, but much less is copied.
    """
    return kernel.shape[1] * kernel.shape[2] < kernel.shape[3]


def _windows(x: Images, kernel: Kernel) -> Float[Array, "window positions"]:
    """Return the inputs that each output position sees: a patch, or one row of it at every height."""
    rows, columns, inputs, _ = kernel.shape
    height, width = x.shape[1] - rows + 1, x.shape[2] - columns + 1
    if _unfolds_rows(kernel):
        shifts = [x[:, i : i + height, j : j + width] for i in range(rows) for j in range(columns)]
        return jnp.stack(shifts).reshape(rows * columns * inputs, -1)
    return jnp.stack([x[:, :, j : j + width] for j in range(columns)]).reshape(columns * inputs, -1)


def _placed(g: Images, i: int, j: int, height: int, width: int) -> Images:
    """Return `g` in a larger image of zeros, its corner at row i and column j."""
    return jnp.pad(g, ((0, 0), (i, height - i - g.shape[1]), (j, width - j - g.shape[2]), (0, 0)))


def _direct_forward(x: Images, kernel: Kernel) -> tuple[Images, tuple[Images, Kernel]]:
    return direct(x, kernel), (x, kernel)


def _direct_backward(residual: tuple[Images, Kernel], g: Images) -> tuple[Images, Kernel]:
    x, kernel = residual
    rows, columns, inputs, outputs = kernel.shape
    _, height, width, batch = x.shape
    inner = width - columns + 1
    if _unfolds_rows(kernel):
        d_kernel = (_windows(x, kernel) @ g.reshape(outputs, -1).T).reshape(kernel.shape)
        spread = (kernel.reshape(-1, outputs) @ g.reshape(outputs, -1)).reshape(rows, columns, inputs, -1, inner, batch)
        parts = [_placed(spread[i, j], i, j, height, width) for i in range(rows) for j in range(columns)]
        return sum(parts), d_kernel  # type: ignore[return-value]
    tall = jnp.stack([_placed(g, i, 0, height, inner) for i in range(rows)]).reshape(rows * outputs, -1)
    d_kernel = (_windows(x, kernel) @ tall.T).reshape(columns, inputs, rows, outputs).transpose(2, 0, 1, 3)
    wide = jnp.stack([_placed(g, 0, j, g.shape[1], width) for j in range(columns)]).reshape(columns * outputs, -1)
    spread = (kernel.transpose(0, 2, 1, 3).reshape(rows * inputs, -1) @ wide).reshape(rows, inputs, -1, width, batch)
    return sum(_placed(spread[i], i, 0, height, width) for i in range(rows)), d_kernel  # type: ignore[return-value]


direct.defvjp(_direct_forward, _direct_backward)


def max_pool(
    x: Float[Array, "channels _ _ batch"], window: int = 2, stride: int = 2
) -> Float[Array, "channels _ _ batch"]:
    """Return the largest value of each window that is wholly inside the image.

    The gradient goes to the first of equal values in reading order, as in PyTorch.
    """
    return _max_pool(x, window, stride)


def _places(x: Images, window: int, stride: int) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Return, for each place in a window, start, limit and strides of the slice that holds it for all windows."""
    channels, height, width, batch = x.shape
    down, across = (height - window) // stride, (width - window) // stride
    return [
        ((0, i, j, 0), (channels, i + down * stride + 1, j + across * stride + 1, batch), (1, stride, stride, 1))
        for i in range(window)
        for j in range(window)
    ]


def _pooled(x: Images, window: int, stride: int) -> Images:
    parts = [lax.slice(x, *place) for place in _places(x, window, stride)]
    largest = parts[0]
    for part in parts[1:]:
        largest = jnp.maximum(largest, part)
    return largest


_max_pool = jax.custom_vjp(_pooled, nondiff_argnums=(1, 2))


def _max_pool_forward(x: Images, window: int, stride: int) -> tuple[Images, tuple[Images, Images]]:
    largest = once(_pooled(x, window, stride))
    return largest, (x, largest)


def _max_pool_backward(window: int, stride: int, residual: tuple[Images, Images], g: Images) -> tuple[Images]:
    x, largest = residual
    places, parts, given = _places(x, window, stride), [], jnp.zeros(largest.shape, bool)
    for place in places:
        hit = (lax.slice(x, *place) == largest) & ~given
        given = given | hit
        parts.append(jnp.where(hit, g, 0.0))
    if window != stride:  # windows overlap, or leave gaps
        zero = jnp.zeros((), g.dtype)
        around = [[(a, n - b, s - 1) for a, b, s, n in zip(*place, x.shape, strict=True)] for place in places]
        return (sum(lax.pad(part, zero, pads) for part, pads in zip(parts, around, strict=True)),)  # type: ignore[return-value]
    channels, down, across, batch = largest.shape
    lines = [jnp.stack(parts[i : i + window], 3) for i in range(0, window**2, window)]
    whole = jnp.stack(lines, 2).reshape(channels, down * window, across * window, batch)
    rest = ((0, 0), (0, x.shape[1] - down * window), (0, x.shape[2] - across * window), (0, 0))
    return (jnp.pad(whole, rest),)


_max_pool.defvjp(_max_pool_forward, _max_pool_backward)
