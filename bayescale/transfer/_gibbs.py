"""Gibbs sampling of target and source effects and what is left of pairs, from conditionals that are known or nearly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayescale.transfer._pairs import Pairs

__all__ = ["GibbsSettings", "Sampled", "gibbs"]

# Scores are of order 1. Half-Student-t priors of the sds of effects, normal ones of the mean and of covariates.
SCALE, DEGREES = 0.5, 3.0
MEAN_SD, SLOPE_SD = 1.0, 0.5
# Degrees of freedom with which the variance of what is left varies between targets.
REST_DEGREES = 4.0
# Steps of random walks of log sds, in turn.
STEPS = (0.3, 0.1, 0.6)


@dataclass(frozen=True)
class GibbsSettings:
    """Settings of the sampler.

    Attributes
    ----------
    chains, draws : int
        Chains, and draws kept of each.
    warmup : int
        Sweeps that are dropped.
    thin : int
        Sweeps for each draw that is kept.
    """

    chains: int = 4
    draws: int = 1000
    warmup: int = 1000
    thin: int = 8


class Sampled(NamedTuple):
    """Draws, leading dimensions (chain, draw).

    Attributes
    ----------
    score : array (chain, draw, target, source)
        Scores: of measured pairs those given, or what they are behind their error; of others, predicted.
    mean : array (chain, draw, target, source)
        What the effects say of each pair, without its own remainder.
    target, source : array (chain, draw, language)
        Effects, around the common mean.
    named : dict of str to array (chain, draw)
        Mean, slopes of the covariates, sds.
    """

    score: np.ndarray
    mean: np.ndarray
    target: np.ndarray
    source: np.ndarray
    named: dict[str, np.ndarray]


class _State:
    """All chains at one moment; each method draws one block given the rest. Arrays lead with the chain."""

    def __init__(self, pairs: Pairs, chains: int, generator: np.random.Generator) -> None:
        self.random, self.chains, self.size = generator, chains, len(pairs.languages)
        self.seen = pairs.measured
        self.given = np.where(self.seen, pairs.score, 0.0)
        self.error = np.where(self.seen, pairs.sd, 0.0)
        self.covariates = np.stack([np.ones_like(self.given), *pairs.covariates.values()])
        self.centre = float(pairs.score[self.seen].mean())
        shape = (chains, self.size, self.size)
        self.truth, self.pair = np.broadcast_to(self.given, shape), np.zeros(shape)
        self.sd = {name: np.full(chains, 0.2) for name in ("target", "source", "pair")}
        self.variance = np.full((chains, self.size), 0.02)
        self.common = np.full(chains, 0.02)
        self.upper = np.triu_indices(self.size, 1)

    def sweep(self) -> None:
        """One draw of every block."""
        weight = self.seen / self.variance[:, :, None]
        self._effects(weight)
        self._pairs(weight)
        self._rest()
        self._truths()

    def _effects(self, weight: np.ndarray) -> None:
        """Mean, slopes, target and source effects together."""
        n, k = self.size, len(self.covariates)
        rows = weight[:, None] * self.covariates
        target, source = slice(k, k + n), slice(k + n, k + 2 * n)
        precision = np.zeros((self.chains, k + 2 * n, k + 2 * n))
        precision[:, :k, :k] = np.einsum("cits,jts->cij", rows, self.covariates)
        precision[:, :k, target], precision[:, :k, source] = rows.sum(3), rows.sum(2)
        precision[:, target, source] = weight
        for low, high in ((slice(k), target), (slice(k), source), (target, source)):
            precision[:, high, low] = np.swapaxes(precision[:, low, high], 1, 2)
        prior = [np.tile([MEAN_SD, *[SLOPE_SD] * (k - 1)], (self.chains, 1))]
        prior += [np.repeat(self.sd[name][:, None], n, axis=1) for name in ("target", "source")]
        precision += _diagonal(np.concatenate(prior, axis=1) ** -2.0)
        precision[:, target, target] += _diagonal(weight.sum(2))
        precision[:, source, source] += _diagonal(weight.sum(1))
        left = (self.truth - self.centre - self.pair) * weight
        pull = np.concatenate([(left[:, None] * self.covariates).sum((2, 3)), left.sum(2), left.sum(1)], axis=1)
        drawn = _normal(precision, pull, self.random)
        self.slopes, self.target, self.source = drawn[:, :k], drawn[:, target], drawn[:, source]
        for name, effects in (("target", self.target), ("source", self.source)):
            self.sd[name] = self._spread(effects, self.sd[name])
        self._rescale(weight)

    def _rescale(self, weight: np.ndarray) -> None:
        """The sds of effects once more, now with the effects in units of them fixed: where they are near 0, the other
        draw hardly moves (doi:10.1198/jcgs.2011.203main)."""
        fixed = self.centre + np.tensordot(self.slopes, self.covariates, axes=1)
        for name in ("target", "source"):
            own = self.target[:, :, None] if name == "target" else self.source[:, None, :]
            other = self.source[:, None, :] if name == "target" else self.target[:, :, None]
            sd = self.sd[name]
            unit = own / sd[:, None, None]
            curve = (weight * unit**2).sum((1, 2))
            pull = (weight * unit * (self.truth - fixed - other - self.pair)).sum((1, 2))

            def height(sd: np.ndarray, curve: np.ndarray = curve, pull: np.ndarray = pull) -> np.ndarray:
                return _log_half_t(sd) + pull * sd - 0.5 * curve * sd**2

            self.sd[name] = _walked(sd, height, self.random)
            effects = unit * self.sd[name][:, None, None]
            if name == "target":
                self.target = effects[:, :, 0]
            else:
                self.source = effects[:, 0, :]
        self.additive = fixed + self.target[:, :, None] + self.source[:, None, :]

    def _spread(self, effects: np.ndarray, sd: np.ndarray) -> np.ndarray:
        """The sd of effects under a half-Student-t prior, written as a mixture (doi:10.1214/11-BA631)."""
        mixing = DEGREES * sd**-2.0 + SCALE**-2.0
        mixing = mixing / self.random.gamma(0.5 * (DEGREES + 1.0), size=self.chains)
        shape = 0.5 * (effects.shape[1] + DEGREES)
        rate = 0.5 * (effects**2).sum(1) + DEGREES / mixing
        return np.sqrt(rate / self.random.gamma(shape, size=self.chains))

    def _pairs(self, weight: np.ndarray) -> None:
        """The effect that both directions of a pair share; its sd first, with the effects integrated out."""
        left = (self.truth - self.additive) * weight
        i, j = self.upper
        pull, held = (array[:, i, j] + array[:, j, i] for array in (left, weight))

        def height(sd: np.ndarray) -> np.ndarray:
            square = sd[:, None] ** 2
            grown = 1.0 + square * held
            return _log_half_t(sd) + 0.5 * (square * pull**2 / grown - np.log(grown)).sum(1)

        sd = self.sd["pair"] = _walked(self.sd["pair"], height, self.random)
        precision = held + sd[:, None] ** -2
        effects = pull / precision + self.random.standard_normal(pull.shape) / np.sqrt(precision)
        self.pair = np.zeros_like(self.pair)
        self.pair[:, i, j] = self.pair[:, j, i] = effects

    def _rest(self) -> None:
        """Variance of what is left of each target's pairs, and its common level."""
        squares = ((self.truth - self.additive - self.pair) ** 2 * self.seen).sum(2)
        shape = 0.5 * (REST_DEGREES + self.seen.sum(1))
        rate = 0.5 * (REST_DEGREES * self.common[:, None] + squares)
        self.variance = rate / self.random.gamma(np.broadcast_to(shape, squares.shape))
        rate = 0.5 * SCALE**-2.0 + 0.5 * REST_DEGREES * (1.0 / self.variance).sum(1)
        self.common = self.random.gamma(0.5 + 0.5 * REST_DEGREES * self.size, size=self.chains) / rate

    def _truths(self) -> None:
        """What the measured scores are behind their errors."""
        if not (self.error > 0).any():
            return
        mean = self.additive + self.pair
        trust = self.variance[:, :, None] / (self.variance[:, :, None] + self.error**2)
        noise = self.error * np.sqrt(trust) * self.random.standard_normal(mean.shape)
        self.truth = mean + trust * (self.given - mean) + noise

    def predicted(self) -> tuple[np.ndarray, np.ndarray]:
        """Scores of all pairs, measured ones as they are and others with a remainder of their own; and their means."""
        mean = self.additive + self.pair
        noise = np.sqrt(self.variance)[:, :, None] * self.random.standard_normal(mean.shape)
        return np.where(self.seen, self.truth, mean + noise), mean

    def named(self, slopes: list[str]) -> dict[str, np.ndarray]:
        """The parameters that are not of one language or pair."""
        values = {"mean": self.slopes[:, 0] + self.centre}
        values |= {name: self.slopes[:, 1 + i] for i, name in enumerate(slopes)}
        return values | {f"sd_{name}": sd for name, sd in self.sd.items()} | {"sd_rest": np.sqrt(self.common)}


def _log_half_t(sd: np.ndarray) -> np.ndarray:
    """Log prior density of log sd, up to a constant."""
    return np.log(sd) - 0.5 * (DEGREES + 1.0) * np.log1p((sd / SCALE) ** 2 / DEGREES)


def _walked(sd: np.ndarray, height: Callable[[np.ndarray], np.ndarray], generator: np.random.Generator) -> np.ndarray:
    """A few steps of a random walk of log sd, (chain,), in the density that `height` is the logarithm of."""
    here = height(sd)
    for step in STEPS:
        trial = sd * np.exp(step * generator.standard_normal(sd.shape))
        there = height(trial)
        taken = np.log(generator.random(sd.shape)) < there - here
        sd, here = np.where(taken, trial, sd), np.where(taken, there, here)
    return sd


def _diagonal(values: np.ndarray) -> np.ndarray:
    """Diagonal matrices (chain, n, n) of vectors (chain, n)."""
    return values[:, :, None] * np.eye(values.shape[1])


def _normal(precision: np.ndarray, pull: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """A draw from the normal with this precision and this precision times mean, for each chain."""
    factor = np.linalg.cholesky(precision)
    noise = factor @ generator.standard_normal(pull.shape)[..., None]
    return np.linalg.solve(precision, pull[..., None] + noise)[..., 0]


def gibbs(pairs: Pairs, settings: GibbsSettings, seed: int) -> Sampled:
    """Sample the posterior of the effects; the same seed gives the same draws."""
    state = _State(pairs, settings.chains, np.random.default_rng([seed, 41]))
    slopes = list(pairs.covariates)
    kept: list[tuple[np.ndarray, ...]] = []
    named: list[dict[str, np.ndarray]] = []
    for sweep in range(settings.warmup + settings.draws * settings.thin):
        state.sweep()
        if sweep >= settings.warmup and (sweep - settings.warmup) % settings.thin == settings.thin - 1:
            score, mean = state.predicted()
            kept.append((score.astype(np.float32), mean.astype(np.float32), state.target, state.source))
            named.append(state.named(slopes))
    score, mean, target, source = (np.stack(parts, axis=1) for parts in zip(*kept, strict=True))
    return Sampled(
        score, mean, target, source, {name: np.stack([one[name] for one in named], axis=1) for name in named[0]}
    )
