"""Model: a law, its noise and the priors of both; frozen, hashable, and itself the NumPyro program."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayescale._float64 import jnp
from bayescale.discrepancy import Discrepancy, Ladder
from bayescale.errors import NoiseError, PriorError, RunsError
from bayescale.laws import Law, get
from bayescale.noise import Noise
from bayescale.prior import Prior

if TYPE_CHECKING:
    from bayescale.runs import Runs

__all__ = ["Model"]

# The column with the sd of each run that is known beforehand. A run at the top of the ladder has next to none.
KNOWN_SD = "known sd"
NO_SD = 1e-9


@dataclass(frozen=True)
class Model:
    """A scaling law with noise and priors.

    Equal models hash alike and share one compiled sampler, whatever table they are fitted to.

    Parameters
    ----------
    law : Law
        The law, with its reference run.
    noise : Noise
        How an observed loss scatters around it.
    overrides : tuple of (str, Prior)
        Priors that replace the defaults; set through `with_priors`.
    discrepancy : Discrepancy, optional
        How far runs may lie from a law that is not quite true; without one the law is taken at its word.

    Examples
    --------
    >>> from bayescale.laws.chinchilla import Chinchilla
    >>> model = Model(Chinchilla()).with_priors(E=Prior("LogNormal", 0.6, 0.2))
    >>> print(model.priors["E"])
    LogNormal(0.6, 0.2)
    """

    law: Law
    noise: Noise = Noise()
    overrides: tuple[tuple[str, Prior], ...] = field(default=())
    discrepancy: Discrepancy | None = None

    def __post_init__(self) -> None:
        clash = set(self.law.parameters) & set(self.noise.priors)
        if clash:
            raise NoiseError(f"{self.law.name} and {self.noise} both have a parameter called {sorted(clash)}")
        unknown = [name for name, _ in self.overrides if name not in self._defaults]
        if unknown:
            close = difflib.get_close_matches(unknown[0], self._defaults, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise PriorError(
                f"{self.law.name} with {self.noise} noise has no parameter {unknown[0]!r}{hint}; "
                f"its parameters are {', '.join(self._defaults)}"
            )

    @property
    def _defaults(self) -> dict[str, Prior]:
        return {name: self.law.priors[name] for name in self.law.parameters} | self.noise.priors

    @property
    def priors(self) -> dict[str, Prior]:
        """Prior of every parameter, the law's first, overrides applied."""
        return self._defaults | dict(self.overrides)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that the model reads, beside the loss."""
        compute = () if self.discrepancy is None else ("C",)
        return tuple(dict.fromkeys(self.law.inputs + self.noise.columns + compute))

    def with_priors(self, **priors: Prior | str | float) -> Self:
        """The same model with some priors replaced.

        Raises
        ------
        PriorError
            A name that is no parameter of this model; the message lists those that are.
        """
        parsed = {name: Prior.parse(prior) for name, prior in priors.items()}
        return replace(self, overrides=tuple(sorted((dict(self.overrides) | parsed).items())))

    def data(self, runs: Runs) -> dict[str, np.ndarray]:
        """The columns the model reads, float64, each of shape (run,); with a discrepancy, also that of known sds.

        Raises
        ------
        RunsError
            The table lacks one, or a noise column is not positive.
        """
        missing = [name for name in self.columns if name not in runs]
        if missing:
            raise RunsError(
                f"{self.law.name} with {self.noise} noise needs the column{'s' * (len(missing) > 1)} "
                f"{', '.join(missing)}, which {runs.source} does not have; name it with "
                f"--column {missing[0]}=<its name in the table>"
            )
        data = {name: np.asarray(runs[name], dtype=np.float64) for name in self.columns}
        for name, values in data.items():
            if not (np.isfinite(values).all() and (values > 0).all()):
                row = int(np.flatnonzero(~(np.isfinite(values) & (values > 0)))[0]) + 1
                raise RunsError(
                    f"run {row}: {name} is {values[row - 1]:.6g}; {self.law.name} with {self.noise} noise needs finite "
                    "values above 0"
                )
        if self.discrepancy is not None:
            allowed = self.discrepancy.allowance(Ladder.of(data["C"]), data["C"])
            data[KNOWN_SD] = np.maximum(allowed, NO_SD)
        return data

    def __call__(self, data: Mapping[str, Any], log_loss: Any = None, weight: Any = None) -> None:
        """The NumPyro program.

        Parameters
        ----------
        data : mapping of str to array (run,)
            Inputs of the law and columns of the noise.
        log_loss : array (run,), optional
            Observed log loss; sampled when absent.
        weight : array of bool (run,), optional
            Rows that count; False for the padding that lets tables of similar size share one compiled sampler.
        """
        import numpyro

        theta = {
            name: prior.arguments[0] if prior.fixed else numpyro.sample(name, prior.distribution())
            for name, prior in self.priors.items()
        }
        distribution = self.predictive(data, theta)
        numpyro.sample("log_loss", distribution if weight is None else distribution.mask(weight), obs=log_loss)

    def log_mean(self, data: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
        """Log loss that the law gives these runs under one set of parameters, shape (run,)."""
        inputs = [data[name] for name in self.law.inputs]
        return jnp.log(self.law.loss(*inputs, **{name: theta[name] for name in self.law.parameters}))

    def predictive(self, data: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
        """NumPyro distribution of the log loss of new runs with these inputs under one set of parameters."""
        location = self.log_mean(data, theta)
        scale = self.noise.scale(data, self.law.reference_run, theta)
        if KNOWN_SD in data:
            scale = jnp.sqrt(scale**2 + jnp.square(jnp.asarray(data[KNOWN_SD])))
        return self.noise.distribution(location, scale, theta)

    def sample_priors(self, size: int, seed: int = 0) -> dict[str, np.ndarray]:
        """Draws from the priors alone, each of shape (size,); fixed parameters repeat their value."""
        generator = np.random.default_rng(seed)
        return {name: prior.sample(generator, size) for name, prior in self.priors.items()}

    def spec(self) -> dict[str, Any]:
        """The model as plain values, for a file: law, reference run, noise and every prior."""
        return {
            "law": self.law.name,
            "reference_run": self.law.reference_run,
            "noise": str(self.noise),
            "priors": {name: str(prior) for name, prior in self.priors.items()},
            "overrides": [name for name, _ in self.overrides],
            "discrepancy": None if self.discrepancy is None else self.discrepancy.document(),
        }

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Model:
        """The model that `spec` described; every prior is taken from the file, not from today's defaults."""
        law = get(spec["law"])(**{f"{symbol}0": value for symbol, value in spec["reference_run"].items()})
        told = spec.get("discrepancy")
        model = cls(law, Noise.parse(spec["noise"]), discrepancy=None if told is None else Discrepancy(**told))
        kept = set(spec["overrides"])
        stored = {name: Prior.parse(text) for name, text in spec["priors"].items()}
        return model.with_priors(
            **{name: prior for name, prior in stored.items() if name in kept or model.priors.get(name) != prior}
        )
