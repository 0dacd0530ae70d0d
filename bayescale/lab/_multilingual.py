"""Simulated runs of a multilingual study, laid out like the 774 runs behind ATLAS: no such table is public."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bayescale._float64 import jax
from bayescale.model import Model
from bayescale.runs import Runs

__all__ = ["LANGUAGES", "MultilingualDesign", "SimulatedRuns", "simulate_runs"]

# Languages of the study, those it measures most first (arXiv 2510.22037, Fig. C.2), with hi, whose law it fits too.
LANGUAGES = (
    *("en", "fr", "ru", "zh", "hi", "sw", "es", "de", "pt", "ja", "vi", "ko", "cy", "kk", "tr", "af", "no", "sv", "el"),
    *(
        "bn",
        "ckb",
        "fa",
        "gu",
        "mr",
        "ps",
        "ur",
        "fil",
        "id",
        "ms",
        "ca",
        "it",
        "ro",
        "ar",
        "he",
        "uk",
        "te",
        "th",
        "yo",
    ),
)
# Unique tokens where the paper prints them (Table C.1); the rest lie between these, evenly on a log scale: our choice.
UNIQUE = {"en": 2.8e12, "fr": 363e9, "ru": 705e9, "zh": 125e9, "hi": 7.9e9, "sw": 770e6}
FEWEST, MOST = 1.5e9, 300e9
MIXED = 50  # languages of the widest mixtures
LARGEST, SMALLEST = 8_452_190_208.0, 9_044_352.0  # parameters with embeddings, Table B.3


@dataclass(frozen=True)
class MultilingualDesign:
    """Which runs are trained, and on what.

    Attributes
    ----------
    languages : int
        Languages whose losses are measured, the first of `LANGUAGES`.
    mono, bilingual, even, unimax : int
        Runs on one language, on two, on an even mixture of 4 to 50, and on the flattened mixture of all (Table B.1:
        280 mono, 90 + 150 bilingual, 120 of varying numbers of languages; the rest are continued runs, left out here
        but for Unimax).
    core : int or None
        Languages that have runs on one and on two; None for all.
    """

    languages: int = 10
    mono: int = 280
    bilingual: int = 240
    even: int = 120
    unimax: int = 84
    core: int | None = None

    def frame(self, seed: int = 0) -> pd.DataFrame:
        """One row for each run and each language it is measured on, without a loss."""
        generator = np.random.default_rng([seed, 774])
        names = [*LANGUAGES[: self.languages], *(f"x{i}" for i in range(self.languages, MIXED))]
        core = names[: self.core or self.languages]
        unique = self._unique(names)
        sizes = np.geomspace(SMALLEST, LARGEST, 12)
        rows: list[dict[str, Any]] = []
        runs = (*_mono(self.mono, core, sizes, unique), *_bilingual(self.bilingual, core, sizes, generator))
        runs = (*runs, *_even(self.even, names, sizes, generator), *_unimax(self.unimax, names, sizes))
        for run, (N, tokens) in enumerate(runs):
            measured = [name for name in names[: self.languages] if tokens.get(name, 0.0) > 0]
            seen = {f"tokens[{name}]": tokens.get(name, 0.0) for name in names}
            rows += [{"run_id": run, "target": target, "N": N, "D": sum(tokens.values())} | seen for target in measured]
        return pd.DataFrame(rows).assign(**{f"unique[{name}]": value for name, value in unique.items()})

    @staticmethod
    def _unique(names: list[str]) -> dict[str, float]:
        others = [name for name in names if name not in UNIQUE]
        spread = np.geomspace(MOST, FEWEST, max(len(others), 2))
        return {name: UNIQUE.get(name, float(spread[others.index(name)] if name in others else 0.0)) for name in names}


Run = tuple[float, dict[str, float]]


def _mono(count: int, core: list[str], sizes: np.ndarray, unique: Mapping[str, float]) -> Iterator[Run]:
    """Each language over sizes and tokens, the smaller ones through several epochs."""
    each = count // len(core)
    for place, name in enumerate(core):
        for i in range(each + (place < count - each * len(core))):
            D = float(np.geomspace(2e9, 2.5e11, 7)[i % 7])
            yield float(sizes[(3 * i + place) % len(sizes)]), {name: min(D, 40.0 * unique[name])}


def _bilingual(count: int, core: list[str], sizes: np.ndarray, generator: np.random.Generator) -> Iterator[Run]:
    """Pairs half and half at 2B parameters, then in other shares at other sizes."""
    pairs = [(a, b) for i, a in enumerate(core) for b in core[i + 1 :]]
    order = generator.permutation(len(pairs))
    for i in range(count):
        first, second = pairs[order[i % len(pairs)]]
        half = i < 90
        share = 0.5 if half else (0.2, 0.5, 0.8)[i % 3]
        N = 2.0e9 if half else float(sizes[2 + (5 * i) % (len(sizes) - 2)])
        D = float(np.geomspace(1e10, 2e11, 5)[i % 5])
        yield N, {first: share * D, second: (1.0 - share) * D}


def _even(count: int, names: list[str], sizes: np.ndarray, generator: np.random.Generator) -> Iterator[Run]:
    """Even mixtures of 4 to 50 languages; the measured ones come first into the small ones."""
    counts = (4, 6, 8, 12, 16, 24, 32, 50)
    measured = [name for name in names if not name.startswith("x")]
    others = [name for name in names if name.startswith("x")]
    for i in range(count):
        K = counts[i % len(counts)]
        chosen = list(generator.choice(measured, min(K, len(measured)), replace=False))
        chosen += list(generator.choice(others, K - len(chosen), replace=False)) if K > len(chosen) else []
        D = float(np.geomspace(3e10, 6e11, 5)[i % 5])
        yield float(sizes[1 + (i // len(counts)) % (len(sizes) - 1)]), {str(name): D / K for name in chosen}


def _unimax(count: int, names: list[str], sizes: np.ndarray) -> Iterator[Run]:
    """All languages, English at 5 % and the others alike."""
    share = {name: 0.05 if name == "en" else 0.95 / (MIXED - 1) for name in names}
    for i in range(count):
        D = float(np.geomspace(2e10, 1e12, 7)[i % 7])
        yield float(sizes[i % len(sizes)]), {name: part * D for name, part in share.items()}


@dataclass(frozen=True)
class SimulatedRuns:
    """A simulated table and what it came from.

    Attributes
    ----------
    frame : pandas.DataFrame
        The table, with ``loss``.
    truth : dict of str to array
        The parameters, (group,) where they have groups; in the order of ``model.groups``.
    model : Model
        Law, noise and priors, settled on the table.
    """

    frame: pd.DataFrame
    truth: dict[str, np.ndarray]
    model: Model


def simulate_runs(
    model: Model,
    frame: pd.DataFrame,
    truth: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    run_sd: float = 0.0,
) -> SimulatedRuns:
    """Losses of a law on the runs of a design.

    Parameters
    ----------
    model : Model
        Law, noise and priors.
    frame : DataFrame
        The runs, such as those of `MultilingualDesign`.
    truth : mapping, optional
        Parameters that are not to be drawn from the priors, by name: a number, or one for each group.
    seed : int
        Seed of the truth and of the noise.
    run_sd : float
        Standard deviation, on log loss, of what all rows of one ``run_id`` have in common.

    Examples
    --------
    >>> from bayescale.laws.atlas import Atlas
    >>> design = MultilingualDesign(languages=3, mono=20, bilingual=20, even=8, unimax=4)
    >>> made = simulate_runs(Model(Atlas()), design.frame())
    >>> len(made.frame), sorted(set(made.frame["target"]))
    (96, ['en', 'fr', 'ru'])
    """
    placed = Runs.from_arrays(**{str(name): frame[name].to_numpy() for name in frame})
    settled = model.on(placed)
    drawn = {name: values[0] for name, values in settled.sample_priors(1, seed).items()}
    theta = drawn | {name: np.broadcast_to(value, np.shape(drawn[name])) for name, value in (truth or {}).items()}
    generator = np.random.default_rng([seed, 5])
    made = settled.predictive(settled.data(placed), theta).sample(jax.random.key(seed))
    log_loss = np.asarray(made)
    if run_sd:
        _, run = np.unique(frame["run_id"], return_inverse=True)
        log_loss = log_loss + run_sd * generator.standard_normal(run.max() + 1)[run]
    return SimulatedRuns(frame.assign(loss=np.exp(log_loss)), theta, settled)
