"""Starts that become one, and residuals freed from the leverage of their runs."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import nnls

from bayescale.laws import get
from bayescale.optimisation.coordinates import coordinates_of
from bayescale.optimisation.leverage import leverage_free
from bayescale.optimisation.merging import LEAST, mergeable, merged
from bayescale.optimisation.regression import Cost, Regression, Resampled, resampled
from bayescale.optimisation.starts import hoffmann
from bayescale.runs import Runs


def problem_of(runs: Runs) -> tuple[Regression, Resampled]:
    law = get("chinchilla")()
    columns = {name: runs[name] for name in ("N", "D")}
    count, target = np.ones((1, len(runs)), np.uint16), np.log(runs["loss"])
    table = resampled(columns, target, np.ones(len(runs)), count, (Cost(math.inf, False),))
    return Regression(law, coordinates_of(law), True), table


def test_hoffmanns_starts_become_one_a_pair_of_exponents(simulate: Callable[..., Runs]) -> None:
    runs = simulate()
    objective, table = problem_of(runs)
    grid = hoffmann(objective.law, objective.coordinates)
    points, kind = merged(objective, table, grid)
    assert points.shape == (25, 5)
    np.testing.assert_array_equal(points[kind, 3:], grid[:, 3:])
    # the best coefficients by Lawson and Hanson's method, none below what a tenth of the loss takes
    law = objective.law
    raised = 0
    for E, a, b, alpha, beta in points:
        if alpha > 0 and beta > 0:  # an exponent of 0 makes two columns of one, and the best is no one point
            parts = np.stack([np.ones(len(runs)), (runs["N"] / law.N0) ** -alpha, (runs["D"] / law.D0) ** -beta], 1)
            relative = parts / runs["loss"][:, None]
            best = nnls(relative, np.ones(len(runs)))[0]
            least = LEAST / np.sqrt(np.square(relative).mean(0))
            np.testing.assert_allclose(np.exp([E, a, b]), np.maximum(best, least), rtol=1e-7)
            raised += int((best < least).sum())
    assert raised


def test_laws_without_linear_parameters_are_left_alone() -> None:
    for name, answer in (("chinchilla", True), ("power-C-no-floor", bool(get("power-C-no-floor").linear))):
        law = get(name)()
        assert mergeable(Regression(law, coordinates_of(law), True)) == answer


@pytest.mark.parametrize("size", [1, 3])
def test_residuals_as_if_a_group_had_taken_no_part(simulate: Callable[..., Runs], size: int) -> None:
    """For a linear model they are what the fit to the other groups leaves, exactly."""
    runs = simulate()
    objective, table = problem_of(runs)
    groups, position = np.arange(len(runs)) // size, np.array([0.6, -1.0, -1.1, 0.35, 0.37])
    loss = objective.law.loss(
        runs["N"], runs["D"], E=np.exp(0.6), a=np.exp(-1.0), b=np.exp(-1.1), alpha=0.35, beta=0.37
    )
    parts = {"a": np.exp(-1.0) * (runs["N"] / 1e9) ** -0.35, "b": np.exp(-1.1) * (runs["D"] / 2e10) ** -0.37}
    logs = (np.log(runs["N"] / 1e9), np.log(runs["D"] / 2e10))
    columns = (np.exp(0.6), *parts.values(), *(-part * log for part, log in zip(parts.values(), logs, strict=True)))
    slopes = np.stack([np.broadcast_to(column, len(runs)) / loss for column in columns], axis=1)
    observed = np.random.default_rng(3).normal(size=len(runs))
    residual = observed - slopes @ np.linalg.lstsq(slopes, observed)[0]
    found = leverage_free(objective, table, position, residual, groups)
    for group in (0, 1, 40):
        own = groups == group
        others = np.linalg.lstsq(slopes[~own], observed[~own])[0]
        np.testing.assert_allclose(found[own], observed[own] - slopes[own] @ others, rtol=1e-8)
