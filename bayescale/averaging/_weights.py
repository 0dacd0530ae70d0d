"""From log densities of runs that no law had seen to a weight for each law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

__all__ = ["predictive", "stacking"]

STEPS = 1000


def predictive(prior: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Posterior probabilities of the laws, from how likely each held the top of the ladder given the rest.

    Parameters
    ----------
    prior : array (law,)
        Weights before any run is seen.
    joint : array (law, cut)
        Joint log densities of the runs that were forecast at each cut.

    Returns
    -------
    numpy.ndarray (law,)
        A law without density at any cut has weight 0; where none has any, the prior.

    References
    ----------
    Dawid 1984, DOI 10.2307/2981683, on prequential forecasts.

    Examples
    --------
    >>> predictive(np.array([0.5, 0.5]), np.log([[0.3], [0.1]])).round(2).tolist()
    [0.75, 0.25]
    """
    score = np.log(prior) + joint.sum(axis=1)
    total = logsumexp(score)
    return np.exp(score - total) if np.isfinite(total) else prior / prior.sum()


def stacking(prior: np.ndarray, pointwise: Sequence[np.ndarray]) -> np.ndarray:
    """Weights of the mixture that would have forecast the runs best, each by itself.

    The runs of one cut share whatever the laws are wrong by there: they count as one observation together, however many
    they are, and the prior as the number of observations that it says.

    Parameters
    ----------
    prior : array (law,)
        For how many observations each law counts before any run is seen.
    pointwise : sequence of array (law, run)
        Log densities of the runs that were forecast, one array a cut.

    Returns
    -------
    numpy.ndarray (law,)
        Weights that add up to 1 and maximise the log score of the mixture, a mean over the runs of each cut, plus
        ``prior @ log(weights)``; the prior where nothing was forecast.

    References
    ----------
    Yao, Vehtari, Simpson and Gelman 2018, arXiv 1704.02030; by EM, as the weights of any mixture.

    Examples
    --------
    >>> stacking(np.array([1.0, 1.0]), [np.log([[0.3, 0.1], [0.1, 0.3]])]).round(2).tolist()
    [0.5, 0.5]
    """
    weights = prior / prior.sum()
    # a run that no law expected tells them apart no better than one that all did
    known = [cut[:, np.isfinite(cut).any(axis=0)] for cut in pointwise]
    density = [np.exp(cut - cut.max(axis=0)) for cut in known if cut.shape[1]]
    for _ in range(STEPS):
        counts = prior.astype(np.float64)
        for cut in density:
            share = weights[:, None] * cut
            counts = counts + (share / share.sum(axis=0)).mean(axis=1)
        weights = counts / counts.sum()
    return weights
