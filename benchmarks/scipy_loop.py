"""``python -m benchmarks.scipy_loop WORK DONE``: Huber fits one after the other by scipy's L-BFGS-B."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

import numpy as np
from scipy.optimize import minimize

__all__ = ["DELTA", "main", "objective"]

DELTA = 1e-3
# To where rounding stops it: the defaults stop far from the optimum.
OPTIONS = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 10_000, "maxfun": 20_000}


def objective(table: Mapping[str, np.ndarray]) -> Callable[..., tuple[float, np.ndarray]]:
    log_N, log_D, target = np.log(table["N"]), np.log(table["D"]), np.log(table["loss"])

    def value_and_gradient(theta: np.ndarray, count: np.ndarray) -> tuple[float, np.ndarray]:
        e, a, b, alpha, beta = theta
        floor, sizes, tokens = np.exp(e), np.exp(a - alpha * log_N), np.exp(b - beta * log_D)
        total = floor + sizes + tokens
        residual = np.log(total) - target
        far = np.abs(residual)
        small = np.minimum(far, DELTA)
        pull = count * np.clip(residual, -DELTA, DELTA) / total
        by_size, by_tokens = pull * sizes, pull * tokens
        gradient = [
            floor * pull.sum(),
            by_size.sum(),
            by_tokens.sum(),
            -(by_size @ log_N),
            -(by_tokens @ log_D),
        ]
        return float(count @ (small * (far - 0.5 * small))), np.array(gradient)

    return value_and_gradient


def main() -> int:
    """Minimise from every start of WORK with its counts, and write seconds and objectives to DONE."""
    work, done = sys.argv[1:]
    with np.load(work) as table:
        starts, counts, fun = table["starts"], table["counts"], objective(table)
    fun(starts[0], counts[0])
    values = []
    began = time.perf_counter()
    with np.errstate(all="ignore"):
        for start, count in zip(starts, counts, strict=True):
            values.append(minimize(fun, start, args=(count,), jac=True, method="L-BFGS-B", options=OPTIONS).fun)
    np.savez(done, seconds=time.perf_counter() - began, values=values)
    return 0


if __name__ == "__main__":
    sys.exit(main())
