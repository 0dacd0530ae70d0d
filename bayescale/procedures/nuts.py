"""The posterior, by the No-U-Turn sampler."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from bayescale.diagnostics import diagnose
from bayescale.errors import RunsError
from bayescale.fits import Fit
from bayescale.fits._record import Record, describe_runs, versions
from bayescale.forecast import forecast
from bayescale.inference.density import pad
from bayescale.inference.sample import Sampler, Samples, sample
from bayescale.intervals import quantiles
from bayescale.model import Model
from bayescale.procedures._procedure import Procedure, Progress
from bayescale.runs import Runs

__all__ = ["NUTS"]


class NUTS(Procedure):
    """The posterior of a model given a table of runs.

    Finds the mode from many starts, whitens the posterior by its curvature there, and runs NUTS with a short warm-up;
    falls back to a long one with dense windowed adaptation where that does not converge.

    Parameters
    ----------
    model : Model
        Law, noise and priors.
    sampler : Sampler, optional
        Chains, draws, warm-up and the rest.

    References
    ----------
    Hoffman and Gelman 2014, arXiv 1111.4246.
    """

    name = "nuts"
    kind = "posterior"
    summary = "posterior draws by the No-U-Turn sampler, whitened at the mode"
    citation = "arXiv:1111.4246"

    def __init__(self, model: Model, sampler: Sampler | None = None) -> None:
        self.model, self.sampler = model, Sampler() if sampler is None else sampler

    def fit(self, runs: Runs, seed: int = 0, progress: Progress | None = None) -> Fit:
        """Sample the posterior.

        Raises
        ------
        RunsError
            The table lacks a column that the law or the noise reads, or a loss is not a number above 0.
        FitError
            No finite likelihood anywhere, or interrupted before the first draw.
        """
        model = self.model
        table = pad(model.data(runs), np.log(_losses(runs)))
        samples = sample(model, table, self.sampler, seed, progress)
        record = Record(
            law=model.law.name,
            reference_run=model.law.reference_run,
            model=model.spec(),
            procedure=self.name,
            kind=self.kind,
            settings=asdict(self.sampler),
            seed=seed,
            table=describe_runs(runs),
            seconds=samples.seconds,
            diagnostics=diagnose(model, samples),
            prior_predictive=_before(model, runs),
            versions=versions(),
        )
        return Fit.assemble(record, model.law, _with_pinned(model, samples), runs, samples.stats)


def _losses(runs: Runs) -> np.ndarray:
    losses = np.asarray(runs["loss"], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(losses) & (losses > 0)))
    if bad.size:
        raise RunsError(f"run {bad[0] + 1} of {runs.source}: its loss is {losses[bad[0]]:.6g}; expected one above 0")
    return losses


def _with_pinned(model: Model, samples: Samples) -> dict[str, np.ndarray]:
    """All parameters in the model's order, pinned ones as constant draws."""
    shape = samples.stats["lp"].shape
    return {
        name: np.full(shape, prior.arguments[0]) if prior.fixed else samples.theta[name]
        for name, prior in model.priors.items()
    }


def _before(model: Model, runs: Runs) -> dict[str, Any]:
    """What the priors alone say of the run with the most compute (or, without compute, the lowest loss)."""
    place = int(np.argmax(runs["C"])) if "C" in runs else int(np.argmin(runs["loss"]))
    targets = {name: [float(runs[name][place])] for name in model.law.inputs}
    predicted = forecast(model.law, None, model.sample_priors(2000), targets, None)
    finite = predicted["mean_loss"].values[np.isfinite(predicted["mean_loss"].values)]
    return dict(quantiles(finite)) | {"observed": float(runs["loss"][place])}
