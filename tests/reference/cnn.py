"""The convolutional classifier of E3CS (Huang et al. 2022), forward and backward by hand, plain NumPy.

Every convolution (stride 1, no padding) is followed by ReLU and a 2x2 max-pool, every dense layer but the last by
ReLU. A model is {"conv_0": layer, "conv_1": layer, ..., "dense_0": layer, ...}, each layer {"kernel", "bias"};
kernels are (rows, columns, inputs, outputs) and (inputs, outputs). Images are (n, height, width, channels) and are
flattened in memory order.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .e3cs import FloatArray, IntArray

Params = Mapping[str, Any]


class Tape(NamedTuple):
    """The values that `backward` needs.

    Attributes:
        inputs: input of each layer.
        before: output of each layer before the ReLU.
    """

    inputs: dict[str, FloatArray]
    before: dict[str, FloatArray]


def convolve(x: FloatArray, kernel: FloatArray) -> FloatArray:
    """Return the cross-correlation y[n, i, j, o] = sum over r, s, c of x[n, i + r, j + s, c] kernel[r, s, c, o]."""
    windows = sliding_window_view(x, kernel.shape[:2], axis=(1, 2))  # (n, i, j, c, r, s)
    return np.einsum("nijcrs,rsco->nijo", windows, kernel, optimize=True)


def convolve_backward(x: FloatArray, kernel: FloatArray, d_y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradients by x and by the kernel."""
    height, width = d_y.shape[1:3]
    d_x, d_kernel = np.zeros_like(x), np.zeros_like(kernel)
    for r in range(kernel.shape[0]):
        for s in range(kernel.shape[1]):
            part = slice(None), slice(r, r + height), slice(s, s + width)
            d_kernel[r, s] = np.tensordot(x[part], d_y, axes=([0, 1, 2], [0, 1, 2]))
            d_x[part] += d_y @ kernel[r, s].T
    return d_x, d_kernel


def _pool_windows(x: FloatArray) -> FloatArray:
    """Return the 2x2 windows (n, i, j, c, 4) in reading order; an odd last row or column is in none."""
    n, height, width, channels = x.shape
    i, j = height // 2, width // 2
    blocks = x[:, : 2 * i, : 2 * j].reshape(n, i, 2, j, 2, channels)
    return blocks.transpose(0, 1, 3, 5, 2, 4).reshape(n, i, j, channels, 4)


def pool(x: FloatArray) -> FloatArray:
    """Return the largest value of each 2x2 window."""
    return _pool_windows(x).max(axis=-1)


def pool_backward(x: FloatArray, d_y: FloatArray) -> FloatArray:
    """Return the gradient by x; the first of equal values receives it."""
    first: IntArray = _pool_windows(x).argmax(axis=-1)
    n, i, j, c = np.indices(d_y.shape)
    d_x = np.zeros_like(x)
    d_x[n, 2 * i + first // 2, 2 * j + first % 2, c] = d_y
    return d_x


def forward(params: Params, x: FloatArray) -> tuple[FloatArray, Tape]:
    """Return the class scores (n, classes) of images x, and the tape for `backward`."""
    tape = Tape({}, {})
    last = len([name for name in params if name.startswith("dense")]) - 1
    for name in sorted(params):  # convolutions first
        layer = params[name]
        if name == "dense_0":
            x = x.reshape(len(x), -1)
        tape.inputs[name] = x
        x = x @ layer["kernel"] if name.startswith("dense") else convolve(x, layer["kernel"])
        x = tape.before[name] = x + layer["bias"]
        if name == f"dense_{last}":
            return x, tape
        x = np.maximum(x, 0.0)
        x = pool(x) if name.startswith("conv") else x
    raise ValueError("a model ends with a dense layer")


def backward(params: Params, tape: Tape, d_scores: FloatArray) -> dict[str, Any]:
    """Return the gradient by the parameters of a function whose gradient by the scores is d_scores (n, classes)."""
    gradient: dict[str, Any] = {}
    d_out = d_scores  # gradient by the output of the layer's ReLU and pool
    for name in sorted(params, reverse=True):
        kernel, x, before = params[name]["kernel"], tape.inputs[name], tape.before[name]
        if name.startswith("conv"):
            after = np.maximum(before, 0.0)
            d_before = pool_backward(after, d_out.reshape(pool(after).shape)) * (before > 0)
            d_out, d_kernel = convolve_backward(x, kernel, d_before)
        else:
            d_before = d_out if not gradient else d_out * (before > 0)  # the last layer has no ReLU
            d_out, d_kernel = d_before @ kernel.T, x.T @ d_before
        gradient[name] = {"kernel": d_kernel, "bias": d_before.reshape(-1, d_before.shape[-1]).sum(axis=0)}
    return {name: gradient[name] for name in params}
