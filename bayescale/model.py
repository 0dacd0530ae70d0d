"""Model: a law, its noise and the priors of both; frozen, hashable, and itself the NumPyro program."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayescale._float64 import jnp
from bayescale.discrepancy import BUMPS, DISTANCES, SAMPLED, Discrepancy
from bayescale.errors import NoiseError, PriorError, RunsError
from bayescale.grouping import Groups
from bayescale.ladder import Ladder
from bayescale.law_error import BEND, WINGS, bent
from bayescale.laws import Law, get
from bayescale.laws._off_optimum import off_optimum
from bayescale.noise import KNOWN_SD, LOSS_SD, Noise, evaluation_sd
from bayescale.prior import Pooled, Prior, apart, parse_prior, pooled

if TYPE_CHECKING:
    from bayescale.runs import Runs

__all__ = ["Model"]


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
    overrides : tuple of (str, Prior or Pooled)
        Priors that replace the defaults; set through `with_priors`.
    groups : tuple of Groups
        The groups over which parameters are pooled, once the model is settled on a table (`on`).
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
    overrides: tuple[tuple[str, Prior | Pooled], ...] = field(default=())
    groups: tuple[Groups, ...] = ()
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
        for name in self.pools.keys() & {"nu", *SAMPLED}:
            raise PriorError(f"{name} belongs to the noise: it is one number for all runs and cannot be pooled")

    @property
    def _defaults(self) -> dict[str, Prior | Pooled]:
        priors: dict[str, Prior | Pooled] = {name: self.law.priors[name] for name in self.law.parameters}
        allowed = {} if self.discrepancy is None else self.discrepancy.priors(self.columns)
        return priors | dict(self.law.pooled) | self.noise.priors | allowed

    @property
    def priors(self) -> dict[str, Prior | Pooled]:
        """Prior of every parameter, the law's first, overrides applied."""
        return self._defaults | dict(self.overrides)

    @property
    def pools(self) -> dict[str, Pooled]:
        """The parameters that have a value for each group."""
        return {name: prior for name, prior in self.priors.items() if isinstance(prior, Pooled)}

    @property
    def scalars(self) -> dict[str, Prior]:
        """Prior of every parameter that is one number, levels and spreads of pooled ones at the end."""
        found = {name: prior for name, prior in self.priors.items() if isinstance(prior, Prior)}
        hyper = {f"{name}_{part}": prior for name, pool in self.pools.items() for part, prior in pool.hyper.items()}
        return found | hyper

    @property
    def groups_of(self) -> dict[str, Groups]:
        """The groups of every pooled parameter; empty until the model is settled on a table."""
        found = {groups.over: groups for groups in self.groups}
        return {name: found[pool.over] for name, pool in self.pools.items() if pool.over in found}

    @property
    def nuisance(self) -> tuple[str, ...]:
        """Parameters that say nothing by themselves, and are not shown: the heights of the law's smooth error."""
        return tuple(name for name in (*BEND, *WINGS) if name in self.priors)

    @property
    def mean_parameters(self) -> tuple[str, ...]:
        """What the mean of log loss depends on: the law's parameters, and the heights of its smooth error."""
        return (*self.law.parameters, *self.nuisance)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that the model reads, beside the loss."""
        compute = () if self.discrepancy is None else ("C",)
        return tuple(dict.fromkeys(self.law.inputs + self.noise.columns + compute))

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns of the table that must hold numbers, beside the loss."""
        return tuple(dict.fromkeys(self.law.needs + self.noise.columns))

    def with_priors(self, **priors: Prior | Pooled | str | float) -> Self:
        """The same model with some priors replaced, pooled ones among them: ``alpha=pooled(prior, over="corpus")``.

        Raises
        ------
        PriorError
            A name that is no parameter of this model; the message lists those that are.
        """
        parsed = {name: parse_prior(prior) for name, prior in priors.items()}
        return replace(self, overrides=tuple(sorted((dict(self.overrides) | parsed).items(), key=lambda item: item[0])))

    def pool(self, over: str, *parameters: str, independent: bool = False) -> Self:
        """The same model with the priors of some parameters pooled over a column, or each group with its own."""
        unknown = [name for name in parameters if name not in self._defaults]
        priors = {name: self.priors[name] for name in parameters if name not in unknown}
        make = apart if independent else pooled
        made: dict[str, Any] = {
            name: make(prior.prior if isinstance(prior, Pooled) else prior, over) for name, prior in priors.items()
        }
        return self.with_priors(**made, **dict.fromkeys(unknown, 0.0))

    def on(self, runs: Runs) -> Self:
        """The model settled on a table: its groups, and what the law chooses by the table. Itself where that is all."""
        law = self.law.on(runs)
        overs = dict.fromkeys(pool.over for pool in replace(self, law=law).pools.values())
        if law == self.law and not overs:
            return self
        labels = law.labels(runs) if overs else {}
        return replace(self, law=law, groups=tuple(Groups.of(over, labels) for over in overs))

    def data(self, runs: Runs) -> dict[str, np.ndarray]:
        """The columns the model reads, float64, each of shape (run,), and what follows from them.

        Sds of log loss are known from the evaluation of each run (the column ``loss_sd``, nats per token). With a
        discrepancy there are columns of how many decades each run is early and undertrained.

        Raises
        ------
        RunsError
            The table lacks one, or a noise column is not positive.
        """
        read = self.law.read(runs)
        missing = [name for name in self.columns if name not in read and name not in runs]
        if missing:
            raise RunsError(
                f"{self.law.name} with {self.noise} noise needs the column{'s' * (len(missing) > 1)} "
                f"{', '.join(missing)}, which {runs.source} does not have; name it with "
                f"--column {missing[0]}=<its name in the table>"
            )
        data = {name: np.asarray(read[name] if name in read else runs[name], np.float64) for name in self.columns}
        for name, values in data.items():
            sound = np.isfinite(values) & ((values > 0) | ((values == 0) & (name in self.law.may_be_zero)))
            if not sound.all():
                row = int(np.argwhere(~sound)[0][0])
                raise RunsError(
                    f"run {row + 1}: {name} is {values[~sound][0]:.6g}; {self.law.name} with {self.noise} noise needs "
                    "finite values above 0"
                )
        if self.discrepancy is not None:
            data |= self.discrepancy.read(Ladder.of(data["C"]), data)
        if LOSS_SD in runs and "loss" in runs:
            data[KNOWN_SD] = evaluation_sd(runs)
        return data | self.places(self.law.labels(runs) if self.groups else {})

    def places(self, labels: Any) -> dict[str, np.ndarray]:
        """Which group each run is in, for every grouping; arrays of int (run,) or (run, slot)."""
        return {groups.key: groups.places(labels) for groups in self.groups}

    def per_run(self, theta: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters with groups (..., group) as the values that each run has, (..., run); others as they are."""
        of = self.groups_of
        return {name: value[..., data[of[name].key]] if name in of else value for name, value in theta.items()}

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
            for name, prior in self.scalars.items()
        }
        for name, pool in self.pools.items():
            hyper = {part: theta.pop(f"{name}_{part}") for part in pool.hyper}
            theta[name] = numpyro.sample(name, pool.distribution(hyper, *self.structure(name)))
        distribution = self.predictive(data, theta)
        numpyro.sample("log_loss", distribution if weight is None else distribution.mask(weight), obs=log_loss)

    def log_mean(self, data: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
        """Log loss that the law gives these runs under one set of parameters, shape (run,)."""
        return self._log_mean(data, self.per_run(theta, data))

    def _log_mean(self, data: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
        inputs = [data[name] for name in self.law.inputs]
        return jnp.log(self.law.loss(*inputs, **{name: theta[name] for name in self.law.parameters}))

    def law_error(self, data: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
        """What the law is off by, smoothly, in the log loss of runs (run,) under one set of parameters; 0 without."""
        return bent(theta, data[BUMPS], off_optimum(self.law, data, theta)) if BUMPS in data else 0.0

    def predictive(self, data: Mapping[str, Any], theta: Mapping[str, Any]) -> Any:
        """NumPyro distribution of the log loss of new runs with these inputs under one set of parameters."""
        theta = self.per_run(theta, data)
        location = self._log_mean(data, theta) + self.law_error(data, theta)
        scale = self.noise.scale(data, self.law.reference_run, theta)
        extra = [theta[name] * jnp.asarray(data[column]) for name, column in DISTANCES.items() if column in data]
        extra += [jnp.asarray(data[KNOWN_SD])] if KNOWN_SD in data else []
        scale = jnp.sqrt(sum(map(jnp.square, extra), scale**2)) if extra else scale
        return self.noise.distribution(location, scale, theta)

    def sample_priors(self, size: int, seed: int = 0) -> dict[str, np.ndarray]:
        """Draws from the priors alone, each of shape (size,), or (size, group) for a parameter that has groups.

        Fixed parameters repeat their value.
        """
        generator = np.random.default_rng(seed)
        drawn = {name: prior.sample(generator, size) for name, prior in self.priors.items() if isinstance(prior, Prior)}
        for name, pool in self.pools.items():
            for part, values in pool.sample(generator, size, *self.structure(name)).items():
                drawn[f"{name}_{part}" if part else name] = values
        return drawn

    def single(self) -> Self:
        """The model of one group: the pooled parameters with the priors of their levels."""
        levels = {name: pool.prior for name, pool in self.pools.items()}
        return replace(self, groups=()).with_priors(**levels)

    def structure(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Of a pooled parameter: which deviation each group shares, and what its slope multiplies; each (group,)."""
        pool, groups = self.pools[name], self.groups_of[name]
        shared = np.zeros(len(groups), dtype=np.int32) if pool.shared is None else groups.members(pool.shared)[0]
        return shared, np.zeros(len(groups)) if pool.slope is None else self.law.covariate(name, groups)

    def spec(self) -> dict[str, Any]:
        """The model as plain values, for a file: law, reference run, noise and every prior."""
        settled: dict[str, Any] = {
            "groups": [[list(groups.over), [list(labels) for labels in groups.labels]] for groups in self.groups],
            "settings": self.law.settings,
        }
        return {
            "law": self.law.name,
            "reference_run": self.law.reference_run,
            "noise": str(self.noise),
            "priors": {name: str(prior) for name, prior in self.priors.items()},
            "overrides": [name for name, _ in self.overrides],
            "discrepancy": None if self.discrepancy is None else self.discrepancy.document(),
        } | {name: value for name, value in settled.items() if value}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Model:
        """The model that `spec` described; every prior is taken from the file, not from today's defaults."""
        reference = {f"{symbol}0": value for symbol, value in spec["reference_run"].items()}
        law = get(spec["law"])(**reference, **spec.get("settings", {}))
        groups = [Groups(tuple(over), tuple(map(tuple, labels))) for over, labels in spec.get("groups", ())]
        told = spec.get("discrepancy")
        discrepancy = None if told is None else Discrepancy.from_document(told)
        model = cls(law, Noise.parse(spec["noise"]), groups=tuple(groups), discrepancy=discrepancy)
        kept = set(spec["overrides"])
        stored = {name: parse_prior(text) for name, text in spec["priors"].items()}
        return model.with_priors(
            **{name: prior for name, prior in stored.items() if name in kept or model.priors.get(name) != prior}
        )
