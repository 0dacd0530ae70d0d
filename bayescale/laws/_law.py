"""What a scaling law is: a formula, with the priors of its parameters beside it."""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from bayescale._float64 import jnp
from bayescale.errors import LawError
from bayescale.laws._columns import Columns
from bayescale.laws._optimum import numeric_optimum
from bayescale.prior import Pooled, Prior

if TYPE_CHECKING:
    from bayescale.grouping import Groups

__all__ = ["REGISTRY", "Law"]

REGISTRY: dict[str, type[Law]] = {}


class Law(ABC):
    """A scaling law: loss as a function of what a run was given.

    A subclass states ``name``, ``formula``, ``citation``, ``priors`` and ``loss``; that is a whole law. The positional
    arguments of ``loss`` are columns of the table of runs, its keyword-only arguments are parameters, each with a
    prior. A column with a default value is one that a budget does not set, such as unique tokens (without limit).
    Naming the class registers it: it appears in `bayescale laws`, in every fit and every test of the registry.

    Parameters
    ----------
    N0, D0, C0 : float, optional
        The reference run of the scale parameters: parameters, tokens and training FLOPs, ``6 * N0 * D0`` by default.

    Attributes
    ----------
    inputs, parameters : tuple of str
        Read from ``loss``.
    linear, powers : tuple of str, mapping of str to str
        Parameters in which the loss is linear and homogeneous once the others are fixed (E, a and b of Chinchilla); the
        exponents of those that have one of their own.
    fitted_by : tuple of str
        The procedures that alone can give this law; empty where any can.
    falls_in : tuple of str or None
        Inputs in which more always lowers the loss; None for all. One that saturates is flat, to the last digit.
    rises_in : tuple of str
        Inputs in which more as a rule raises the loss, such as the number of languages that share a model.
    may_be_zero, either_way : tuple of str
        Those that may be zero; those of which more may raise or lower the loss.
    slots : tuple of str
        Columns of `labels` whose every label all runs have, such as the domains of a mixture.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    citation: ClassVar[str]
    priors: ClassVar[Mapping[str, Prior]]
    loss_unit: ClassVar[str] = "nats per token"
    N_convention: ClassVar[str] = "as in the table"
    linear: ClassVar[tuple[str, ...]] = ()
    powers: ClassVar[Mapping[str, str]] = {}
    fitted_by: ClassVar[tuple[str, ...]] = ()
    falls_in: ClassVar[tuple[str, ...] | None] = None
    rises_in: ClassVar[tuple[str, ...]] = ()
    may_be_zero: ClassVar[tuple[str, ...]] = ()
    either_way: ClassVar[tuple[str, ...]] = ()
    slots: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[tuple[str, ...]]
    parameters: ClassVar[tuple[str, ...]]

    def __init__(self, N0: float = 1e9, D0: float = 2e10, C0: float | None = None) -> None:
        self.N0, self.D0 = float(N0), float(D0)
        self.C0 = 6.0 * self.N0 * self.D0 if C0 is None else float(C0)
        for symbol, value in self.reference_run.items():
            if not (math.isfinite(value) and value > 0):
                raise LawError(f"{self.name}: the reference run needs a finite {symbol}0 above 0, got {value!r}")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            return
        signature = inspect.signature(cls.loss).parameters.values()
        cls.inputs = tuple(p.name for p in signature if p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self")
        cls.parameters = tuple(p.name for p in signature if p.kind is p.KEYWORD_ONLY)
        priors = getattr(cls, "priors", {})
        if set(priors) != set(cls.parameters):
            raise TypeError(
                f"{cls.__name__}.priors must name exactly the keyword-only arguments of loss(): "
                f"priors {sorted(priors)}, parameters {sorted(cls.parameters)}"
            )
        named = (*cls.linear, *cls.powers, *cls.powers.values())
        if not set(named) <= set(cls.parameters):
            raise TypeError(f"{cls.__name__}.linear names {named}, but the parameters are {cls.parameters}")
        if not set(cls.falls_in or ()) <= set(cls.inputs):
            raise TypeError(f"{cls.__name__}.falls_in names {cls.falls_in}, but the inputs are {cls.inputs}")
        if not set(cls.rises_in) <= set(cls.inputs) - set(cls.falls_in or ()):
            falls = f"the inputs are {cls.inputs} and those in which the loss falls {cls.falls_in or ()}"
            raise TypeError(f"{cls.__name__}.rises_in names {cls.rises_in}, but {falls}")
        for other in ("formula", "citation"):
            if not getattr(cls, other, ""):
                raise TypeError(f"{cls.__name__} needs a {other}: every law is printed with its formula and its source")
        known = REGISTRY.get(cls.name)
        if known is not None and (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise TypeError(f"two laws are called {cls.name!r}: {known.__qualname__} and {cls.__qualname__}")
        REGISTRY[cls.name] = cls

    @abstractmethod
    def loss(self, *inputs: Any, **theta: Any) -> Any:
        """Loss [nats per token] of runs with these inputs (arrays over runs) under these parameters (scalars)."""

    def derived(self, **theta: Any) -> dict[str, Any]:
        """Quantities computed from the parameters, under the names the literature uses. None by default."""
        return {}

    @property
    def reference_run(self) -> dict[str, float]:
        """The run at which scale parameters are expressed."""
        return {"N": self.N0, "D": self.D0, "C": self.C0}

    def at(self, **reference: float) -> Self:
        """The same law with another reference run, e.g. ``law.at(N=1e3, D=1e6)``; C0 follows by 6 N0 D0."""
        merged = {"N": self.N0, "D": self.D0} | reference
        return type(self)(**{f"{symbol}0": value for symbol, value in merged.items()}, **self.settings)

    @property
    def pooled(self) -> Mapping[str, Pooled]:
        """Parameters that have a value for each group of runs, such as a language, unless a person says otherwise.

        In ``loss`` such a parameter is one number a run, so a formula knows nothing of groups; `priors` holds the prior
        of the level. None by default.
        """
        return {}

    @property
    def settings(self) -> dict[str, Any]:
        """What the law was made with beside the reference run, as plain values for a file."""
        return {}

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns of the table that must hold numbers: the inputs, but for those that `read` computes."""
        return self.inputs

    def on(self, columns: Columns) -> Self:
        """The law settled on a table, where it chooses something by the table; itself by default."""
        return self

    def read(self, columns: Columns) -> dict[str, Any]:
        """Inputs that are computed from columns of the table, arrays (run,) or (run, slot); none by default.

        A parameter that is pooled over a column of slots has a value for each run and slot.
        """
        return {}

    def table_columns(self, columns: Columns) -> tuple[str, ...]:
        """Columns of the table that `on`, `read` and `labels` look at; none by default."""
        return ()

    def labels(self, columns: Columns) -> Columns:
        """Columns that make groups, (run,) or (run, slot); those of the table by default."""
        return columns

    def covariate(self, name: str, groups: Groups) -> Any:
        """What the slope of a pooled parameter multiplies in each group (group,)."""
        raise LawError(f"{self.name} knows nothing that {name} could depend on")

    def remarks(self, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]) -> tuple[str, ...]:
        """Sentences for the reader of a fit, given its columns and medians of the parameters; none by default."""
        return ()

    def typical(self, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The inputs of a run that stands for several, whose loss they tell best; geometric means unless overridden."""
        with np.errstate(divide="ignore"):
            return {name: np.exp(np.log(columns[name]).mean(axis=0)) for name in self.inputs}

    def at_usual_scale(self) -> tuple[Law, dict[str, float]]:
        """An equal law at the usual reference run, and the factors on its inputs that make it equal.

        The reference run is part of the compiled program: laws at many of them would each be compiled. By default the
        law itself, and no factors.
        """
        return self, {}

    @property
    def splits_compute(self) -> bool:
        """Whether the law trades parameters against tokens, so that a budget can be split between them."""
        return {"N", "D"} <= set(self.inputs)

    def optimum(self, compute: Any, **theta: Any) -> tuple[Any, Any]:
        """Compute-optimal parameters and tokens of one budget, ``C = 6 N D``; numeric unless a law overrides it.

        Parameters
        ----------
        compute : float
            Training FLOPs.
        **theta : float
            One value of each parameter of the law; also of an input that has a default value, such as ``U=25e9``.

        Returns
        -------
        N, D : float
            NaN where the loss falls all the way to one model parameter or one token: no interior optimum.

        Raises
        ------
        LawError
            The law does not trade parameters against tokens.
        """
        self._must_split("compute-optimal size")
        high = jnp.log(compute / 6.0)
        return numeric_optimum(partial(self.loss, **theta), *self._sizes(high), high)

    def _sizes(self, log_product: Any) -> tuple[Any, Any]:
        """Ends of log N between which the numeric optimum is sought, for budgets with ``N D = exp(log_product)``."""
        return 0.0, log_product

    def exponents(self, compute: Any, **theta: Any) -> tuple[Any, Any]:
        """Local slopes of ``log N*`` and ``log D*`` in ``log C`` at one budget; they add up to 1."""
        step = 1e-3
        above, below = (self.optimum(compute * math.exp(sign * step), **theta)[0] for sign in (1, -1))
        slope = (jnp.log(above) - jnp.log(below)) / (2 * step)
        return slope, 1.0 - slope

    def frontier(self, compute: Any, **theta: Any) -> Any:
        """Loss of the compute-optimal run of a budget, ``L*(C)`` [nats per token].

        Raises
        ------
        LawError
            The law is one of parameters or of tokens alone: a budget does not say what the loss is.
        """
        if self.inputs == ("C",):
            return self.loss(compute, **theta)
        self._must_split("loss at a budget")
        N, D = self.optimum(compute, **theta)
        return self.loss(N=N, D=D, **theta)

    def check_runs(self, columns: Mapping[str, Any]) -> None:  # noqa: B027  (most refuse none)
        """Refuse a table from which this law cannot be learnt whatever the priors; by default any will do.

        Parameters
        ----------
        columns : mapping of str to array (run,)
            The inputs of the law, finite and above 0.

        Raises
        ------
        RunsError
            The message says why, and what runs to add.
        """

    def check_targets(self, columns: Collection[str], theta: Mapping[str, Any]) -> None:  # noqa: B027  (most refuse none)
        """Refuse a forecast that this law cannot make; by default it can make all.

        Parameters
        ----------
        columns : collection of str
            What is given of the runs to forecast.
        theta : mapping of str to array
            Draws of the parameters.

        Raises
        ------
        TargetError
            The message says why, and what to ask instead.
        """

    def _must_split(self, what: str) -> None:
        if not self.splits_compute:
            raise LawError(f"{self.name} has no {what}: {self._no_split}")

    @property
    def _no_split(self) -> str:
        """Why the law cannot split a budget."""
        return f"it is a law of {', '.join(self.inputs)} alone, not of N and D"

    def _identity(self) -> Iterator[tuple[str, Any]]:
        yield "type", type(self)
        yield from sorted(vars(self).items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Law) and tuple(self._identity()) == tuple(other._identity())

    def __hash__(self) -> int:
        return hash(tuple(self._identity()))

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v:.6g}" for k, v in sorted(vars(self).items()) if isinstance(v, float))
        return f"{type(self).__name__}({settings})"
