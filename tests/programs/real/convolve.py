"""Computes convolutions with numpy, to check the guard's reference: one slice of the image per filter element.

Reads jobs from LINES, one per line, as `operation n c h w k r s pad_h pad_w stride_h stride_w`. Reads the operands x,
w, y and bias of each job, in this order, as 32-bit floats from OPERANDS. Writes the results as 64-bit floats to RESULTS.
Then rounds the 32-bit floats in FLOATS to halves and writes those to HALVES.

    python3 convolve.py LINES OPERANDS RESULTS FLOATS HALVES
"""

import sys

import numpy


def convolve(operation, x, w, y, bias, pad, stride):
    _, _, rows, columns = w.shape
    _, _, height, width = y.shape
    padded = numpy.pad(x, ((0, 0), (0, 0), (pad[0],) * 2, (pad[1],) * 2))
    dx, dw, out = numpy.zeros_like(padded), numpy.zeros_like(w), numpy.zeros_like(y)
    for r in range(rows):
        for s in range(columns):
            down = slice(r, r + (height - 1) * stride[0] + 1, stride[0])
            right = slice(s, s + (width - 1) * stride[1] + 1, stride[1])
            seen = padded[:, :, down, right]
            weights = w[:, :, r, s]
            out += numpy.einsum("ncij,kc->nkij", seen, weights)
            dx[:, :, down, right] += numpy.einsum("nkij,kc->ncij", y, weights)
            dw[:, :, r, s] += numpy.einsum("nkij,ncij->kc", y, seen)
    if operation == "dx":
        return dx[:, :, pad[0] : pad[0] + x.shape[2], pad[1] : pad[1] + x.shape[3]]
    if operation == "dw":
        return dw
    if operation == "fused":
        return numpy.maximum(out + bias[None, :, None, None], 0)
    return out


def main():
    lines, operands, results, floats, halves = sys.argv[1:]
    numbers = numpy.fromfile(operands, numpy.float32).astype(numpy.float64)
    at = 0

    def take(*shape):
        nonlocal at
        count = int(numpy.prod(shape))
        at += count
        return numbers[at - count : at].reshape(shape)

    with open(results, "wb") as out, open(lines) as jobs:
        for job in jobs:
            operation, *sizes = job.split()
            n, c, h, w, k, r, s, *pairs = map(int, sizes)
            pad, stride = pairs[0:2], pairs[2:4]
            height, width = (
                (size + 2 * pad[i] - filter) // stride[i] + 1
                for i, (size, filter) in enumerate([(h, r), (w, s)])
            )
            tensors = take(n, c, h, w), take(k, c, r, s), take(n, k, height, width), take(k)
            convolve(operation, *tensors, pad, stride).tofile(out)
    assert at == len(numbers)
    with numpy.errstate(over="ignore"):
        numpy.fromfile(floats, numpy.float32).astype(numpy.float16).tofile(halves)


if __name__ == "__main__":
    main()
