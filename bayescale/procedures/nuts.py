"""The posterior, by the No-U-Turn sampler."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayescale.diagnostics import diagnose
from bayescale.fits import Fit
from bayescale.forecast import forecast
from bayescale.grouping import gathered
from bayescale.inference.sample import Samples
from bayescale.inference.sampler import Sampler
from bayescale.intervals import quantiles
from bayescale.model import Model
from bayescale.procedures._evaluation_noise import judged
from bayescale.procedures._posterior import draw, with_pinned
from bayescale.procedures._procedure import Procedure, Progress
from bayescale.procedures._rehearsal import on_ladder
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
    settings : Sampler, optional
        Chains, draws, warm-up and the rest.

    References
    ----------
    Hoffman and Gelman 2014, arXiv 1111.4246.
    """

    name = "nuts"
    kind = "posterior"
    summary = "posterior draws by the No-U-Turn sampler, whitened at the mode"
    citation = "arXiv:1111.4246"

    Settings = Sampler
    bayesian = True
    default_noise = "student-t"

    def fit(self, runs: Runs, seed: int = 0, progress: Progress | None = None) -> Fit:
        """Sample the posterior.

        Raises
        ------
        RunsError
            The table lacks a column that the law or the noise reads, or a loss is not a number above 0.
        FitError
            No finite likelihood anywhere, or interrupted before the first draw.
        """
        self.model = model = self.model.on(runs)
        samples = draw(model, runs, self.settings, seed, progress)
        verdict = diagnose(model, samples, len(runs))
        middle = _middle(model, samples)
        columns = model.data(runs)
        remarks = model.law.remarks(columns, model.per_run(middle, columns))
        verdict = judged(replace(verdict, notes=(*verdict.notes, *remarks)), model, middle, runs)
        record = self.record(runs, seed, samples.seconds, verdict, _before(model, runs))
        if model.discrepancy is not None:
            record = on_ladder(record, model, runs, self.settings, seed)
        return Fit.assemble(record, model.law, with_pinned(model, samples), runs, samples.stats)


def _middle(model: Model, samples: Samples) -> dict[str, np.ndarray]:
    """The median of every parameter; of those with groups, (group,)."""
    middle = {name: np.median(values) for name, values in with_pinned(model, samples).items()}
    return gathered(middle, model.groups_of)


def _before(model: Model, runs: Runs) -> dict[str, Any]:
    """What the priors alone say of the run with the most compute (or, without compute, the lowest loss)."""
    place = int(np.argmax(runs["C"])) if "C" in runs else int(np.argmin(runs["loss"]))
    data = model.data(runs.subset(np.arange(len(runs)) == place))
    drawn = model.per_run(model.sample_priors(2000), data)
    predicted = forecast(model.law, None, drawn, {name: data[name] for name in model.law.inputs}, None)
    finite = predicted["mean_loss"].values[np.isfinite(predicted["mean_loss"].values)]
    return dict(quantiles(finite)) | {"observed": float(runs["loss"][place])}
