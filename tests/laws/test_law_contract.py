"""What every law promises; these run over the registry, so a new law is tested by being there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import numpy as np
import pytest

from bayescale._float64 import jax
from bayescale.errors import LawError
from bayescale.laws import Law, get, names
from bayescale.laws._positive import Positive
from bayescale.prior import Prior

Theta = dict[str, np.ndarray]
Columns = tuple[np.ndarray, ...]
Loss = Callable[..., np.ndarray]


def one(theta: Theta, draw: int = 0) -> dict[str, float]:
    return {name: float(values[draw]) for name, values in theta.items()}


def splits_beside_the_loss(law: Law, name: str, theta: Theta) -> bool:
    """Whether a law of compute alone says with this parameter how a budget is split, as `frontier` does."""
    if not law.splits_compute or {"N", "D"} <= set(law.inputs):
        return False
    draw = one(theta)
    return law.optimum(1e23, **draw)[0] != law.optimum(1e23, **draw | {name: 1.1 * draw[name]})[0]


def test_it_is_in_the_registry_under_its_name(law: Law) -> None:
    assert law.name in names()
    assert get(law.name) is type(law)


def test_inputs_are_positional_and_parameters_keyword_only(law: Law, theta: Theta, columns: Columns) -> None:
    signature = inspect.signature(law.loss).parameters
    kinds = {name: parameter.kind for name, parameter in signature.items()}
    assert law.inputs == tuple(n for n, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD)
    assert law.parameters == tuple(n for n, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY)
    assert set(law.inputs) | set(law.parameters) == set(kinds)
    assert law.inputs
    assert law.parameters
    with pytest.raises(TypeError, match="positional"):
        law.loss(*columns, *one(theta).values())


def test_every_parameter_has_a_prior(law: Law) -> None:
    assert set(law.priors) == set(law.parameters)
    assert all(isinstance(prior, Prior) and not prior.fixed for prior in law.priors.values())


def test_formula_says_what_the_signature_says_and_the_source_is_named(law: Law) -> None:
    for symbol in (*law.inputs, *law.parameters):
        assert re.search(rf"(?<![A-Za-z]){symbol}(?![A-Za-z0-9])", law.formula), f"{symbol} is not in {law.formula!r}"
    assert law.citation.strip()
    assert re.fullmatch(r"[a-z0-9-]+", law.name, flags=re.IGNORECASE), "names are typed in a shell"


def test_loss_is_finite_and_positive(loss: Loss, theta: Theta, columns: Columns) -> None:
    values = loss(theta, *columns)
    assert values.shape == (200, 16)
    assert values.dtype == np.float64
    assert np.isfinite(values).all()
    assert (values > 0).all()


def test_gradient_is_finite_in_every_parameter_and_none_is_idle(law: Law, theta: Theta, columns: Columns) -> None:
    jacobian = jax.jit(jax.vmap(jax.jacfwd(lambda draw: law.loss(*columns, **draw))))(theta)
    for name in law.parameters:
        assert np.isfinite(jacobian[name]).all(), name
        idle = not (np.asarray(jacobian[name]) != 0).any()
        assert not idle or splits_beside_the_loss(law, name, theta), f"{name} has no effect on the loss"


def test_loss_falls_or_rises_in_every_input(law: Law, loss: Loss, theta: Theta, columns: Columns) -> None:
    here = loss(theta, *columns)
    for position, name in enumerate(law.inputs):
        more = [column * (2.0 if i == position else 1.0) for i, column in enumerate(columns)]
        there = loss(theta, *more)
        if name in law.rises_in:
            assert (there > here).mean() > 0.5, f"twice the {name} hardly ever raises the loss"
        elif law.falls_in is None or name in law.falls_in:
            assert (there < here).all(), f"twice the {name} does not lower the loss"
        elif name in law.either_way:
            assert (there != here).any(), f"twice the {name} changes nothing"
        else:
            assert (there < here).mean() > 0.5, f"twice the {name} hardly ever lowers the loss"


def test_the_loss_is_linear_in_what_the_law_says(law: Law, loss: Loss, theta: Theta, columns: Columns) -> None:
    if not law.linear:
        return
    generator = np.random.default_rng(0)
    weights = {name: generator.uniform(0.1, 3.0, (2, 200)) for name in law.linear}
    both = theta | {name: theta[name] * weights[name].sum(axis=0) for name in law.linear}
    each = [theta | {name: theta[name] * weights[name][half] for name in law.linear} for half in (0, 1)]
    # additive, and so homogeneous; terms of a few nats to ten digits
    np.testing.assert_allclose(loss(both, *columns), sum(loss(part, *columns) for part in each), rtol=1e-10)


def test_vectorised_over_draws_and_runs_is_the_scalar_formula(
    law: Law, loss: Loss, theta: Theta, columns: Columns
) -> None:
    together = loss(theta, *columns)
    for draw, run in [(0, 0), (3, 15), (199, 7)]:
        alone = law.loss(*(float(column[run]) for column in columns), **one(theta, draw))
        # Rounding alone: a power of up to 1e5 ** 2 carries a few tens of ulp.
        np.testing.assert_allclose(together[draw, run], alone, rtol=1e-13)


def test_columns_that_remember_their_logarithm_give_the_same_loss(loss: Loss, theta: Theta, columns: Columns) -> None:
    held = [Positive.of(column) for column in columns]
    # exp(x log y) and y ** x differ by |x log y| ulp: below 1e-14 for these priors.
    np.testing.assert_allclose(loss(theta, *held), loss(theta, *columns), rtol=1e-12)


def test_derived_quantities_are_elementwise_on_numpy_draws(law: Law, theta: Theta) -> None:
    chains = {name: values.reshape(4, 50) for name, values in theta.items()}
    derived = law.derived(**chains)
    assert not set(derived) & set(law.parameters)
    for name, values in derived.items():
        assert np.shape(values) == (4, 50), name
        for chain, draw in [(0, 0), (2, 31), (3, 49)]:
            alone = law.derived(**one(theta, 50 * chain + draw))[name]
            np.testing.assert_allclose(values[chain, draw], alone, rtol=1e-13, err_msg=name)


def test_equal_laws_hash_alike_and_share_a_trace(law: Law) -> None:
    twin, moved = type(law)(), law.at(N=1e6, D=1e8)
    assert law == twin
    assert hash(law) == hash(twin)
    assert law != moved
    assert law != law.name
    traces = []
    compiled = jax.jit(lambda it, x: traces.append(it) or x, static_argnums=0)
    for each in (law, twin, moved, type(law)(N0=1e6, D0=1e8)):
        compiled(each, 1.0)
    assert traces == [law, moved]


def test_two_laws_are_never_equal(law: Law) -> None:
    assert all((get(name)() == law) == (name == law.name) for name in names())


def test_at_moves_the_reference_run_and_compute_follows(law: Law) -> None:
    assert law.reference_run == {"N": 1e9, "D": 2e10, "C": 6 * 1e9 * 2e10}
    assert law.at(N=1e3, D=1e6).reference_run == {"N": 1e3, "D": 1e6, "C": 6e9}
    assert law.at(D=1e6).reference_run == {"N": 1e9, "D": 1e6, "C": 6e15}
    assert law.at(C=1e20).reference_run == {"N": 1e9, "D": 2e10, "C": 1e20}
    assert type(law.at(N=1e3)) is type(law)
    assert "1e+06" in repr(law.at(D=1e6))


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_a_reference_run_that_is_none_is_refused(law: Law, value: float) -> None:
    with pytest.raises(LawError, match=rf"{law.name}: the reference run needs a finite D0 above 0, got {value}"):
        law.at(D=value)
