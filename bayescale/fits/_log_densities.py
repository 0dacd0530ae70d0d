"""Log prior and log likelihood of the draws of a fit: what ArviZ's tools for a posterior ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescale._float64 import jax, jnp
from bayescale.errors import FitError
from bayescale.inference.density import Table, pad
from bayescale.inference.program import program
from bayescale.model import Model
from bayescale.noise import log_likelihood
from bayescale.prior import Prior

if TYPE_CHECKING:
    from bayescale.fits._fit import Fit

__all__ = ["has_prior", "log_groups", "model_of", "pointwise", "totals"]

# Runs times draws that are held at a time [numbers].
AT_ONCE = 1 << 21


def has_prior(fit: Fit) -> bool:
    """Whether the draws are a posterior's of one group, so that a prior of its own stands behind every parameter."""
    return fit.kind == "posterior" and fit.model is not None and not fit.model.groups


def model_of(fit: Fit) -> Model:
    """The model of a posterior.

    Raises
    ------
    FitError
        The draws are replicates or a point: no prior stands behind them.
    """
    if fit.model is not None and fit.model.groups:
        raise FitError(
            "parameters of this fit differ between groups, whose priors are learnt from each other: ask the fit of one "
            "group, fit.of(..), what rests on a prior"
        )
    if fit.model is None or not has_prior(fit):
        raise FitError(
            f"these draws are {fit.kind} draws of {fit.record.procedure}, behind which stands no prior: only a "
            "posterior (nuts) can be asked how much of it is prior"
        )
    return fit.model


def log_groups(fit: Fit) -> xr.DataTree:
    """The fit's tree with two more groups, for ``arviz_stats.psense_summary``, ``loo`` and the like.

    Parameters
    ----------
    fit : Fit
        A posterior.

    Returns
    -------
    xarray.DataTree
        With ``log_prior``: the log density of each sampled parameter's prior at each draw, on the parameter's own
        scale, (chain, draw), but for the heights of a smooth error of the law; and ``log_likelihood``: ``log_loss``,
        the log density of the log loss of each run, (chain, draw, run).

    Raises
    ------
    FitError
        The fit is no posterior.
    """
    model = model_of(fit)
    drawn = {name: fit.draws[name].values for name in model.priors}
    each = pointwise(model, fit.theta, model.data(fit.runs), np.log(fit.runs["loss"]))
    shape = next(iter(drawn.values())).shape
    dims = ("chain", "draw", "run")
    likelihood = xr.Dataset({"log_loss": (dims, each.reshape(*shape, -1))})
    prior = {name: (dims[:2], np.asarray(_log_prior(own, drawn[name]))) for name, own in _scaled(model).items()}
    groups = {name: node.to_dataset() for name, node in fit.tree.children.items()}
    return xr.DataTree.from_dict(groups | {"log_prior": xr.Dataset(prior), "log_likelihood": likelihood})


def _scaled(model: Model) -> dict[str, Prior]:
    """The priors that an answer may rest on: of what is sampled, without the heights of the law's smooth error.

    How far those may go belongs to the likelihood: raised to a power with the priors, it would move every answer.
    """
    return {name: prior for name, prior in model.scalars.items() if not prior.fixed and name not in model.nuisance}


def _log_prior(prior: Prior, values: Any) -> Any:
    """Log density of each value, of any shape; one at a time, since a Beta is a Dirichlet of two to NumPyro."""
    flat = jnp.ravel(values)
    return jax.vmap(prior.distribution().log_prob)(flat).reshape(jnp.shape(values))


def totals(fit: Fit, keep: np.ndarray) -> dict[str, np.ndarray]:
    """``prior`` and ``likelihood``: the log densities of the draws at `keep`, each in one number; (len(keep),)."""
    model = model_of(fit)
    table = pad(model.data(fit.runs), np.log(fit.runs["loss"]))
    theta = {name: jnp.asarray(values[keep]) for name, values in fit.theta.items()}
    prior, likelihood = _totals(model, theta, table)
    return {"prior": np.asarray(prior), "likelihood": np.asarray(likelihood)}


@program(1)
def _totals(model: Model, theta: Mapping[str, Any], table: Table) -> tuple[Any, Any]:
    prior = sum(_log_prior(each, theta[name]) for name, each in _scaled(model).items())

    def likelihood(draw: Mapping[str, Any]) -> Any:
        return log_likelihood(model.predictive(table.columns, draw), table.log_loss, table.weight)

    return prior, jax.lax.map(likelihood, dict(theta), batch_size=max(1, AT_ONCE // table.weight.size))


def pointwise(model: Model, theta: Mapping[str, Any], columns: Mapping[str, Any], log_loss: Any) -> np.ndarray:
    """Log density (sample, run) of the log loss of each run under each draw (sample,)."""
    return np.asarray(_pointwise(model, dict(theta), dict(columns), log_loss))


@partial(jax.jit, static_argnames=("model",))
def _pointwise(model: Model, theta: Mapping[str, Any], columns: Mapping[str, Any], log_loss: Any) -> Any:
    return jax.vmap(lambda draw: model.predictive(columns, draw).log_prob(log_loss))(dict(theta))
