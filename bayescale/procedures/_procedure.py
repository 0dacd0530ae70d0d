"""What a fitting procedure is: something that turns runs into a fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any, ClassVar

import numpy as np

from bayescale.diagnostics import Diagnostics
from bayescale.errors import FitError, RunsError
from bayescale.fits import Fit
from bayescale.fits._record import KINDS, Record, describe_runs, versions
from bayescale.model import Model
from bayescale.procedures._evaluation_noise import unused
from bayescale.runs import Runs

__all__ = ["REGISTRY", "Procedure", "Progress", "losses"]

Progress = Callable[[str, int, int], None]

REGISTRY: dict[str, type[Procedure]] = {}


class Procedure(ABC):
    """A way of fitting a law to runs.

    A subclass states ``name``, ``kind`` (what its draws are by default), ``summary`` (one sentence), ``citation``,
    ``Settings`` and ``fit``; naming the class registers it, so that it appears in `bayescale procedures`, in
    `bayescale.fit`, in `bayescale compare` and in the contract tests.

    Parameters
    ----------
    model : Model
        Law, noise and priors. What a procedure cannot use of it, it refuses.
    settings : Settings, optional
        A frozen dataclass of the procedure's own, every field with a default.

    Attributes
    ----------
    default_law, default_noise : str
        What is fitted when a person names none.
    needs : tuple of str
        Columns of the table that it reads beside those of the law.
    bayesian : bool
        Whether priors take part. Where they do not, priors that a person sets are refused.
    kind : str
        What the draws are: ``posterior``, ``bootstrap`` or ``point``. A procedure that bootstraps is one of the latter
        two by its settings.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    citation: ClassVar[str]
    Settings: ClassVar[type[Any]]
    kind: str = ""
    needs: ClassVar[tuple[str, ...]] = ()
    bayesian: ClassVar[bool] = False
    default_law: ClassVar[str] = "chinchilla"
    default_noise: ClassVar[str] = "normal"

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            return
        for required in ("summary", "citation"):
            if not getattr(cls, required, ""):
                raise TypeError(f"{cls.__name__} needs a {required}")
        if cls.kind not in KINDS:
            raise TypeError(f"{cls.__name__}.kind must be one of {', '.join(KINDS)}")
        if not is_dataclass(getattr(cls, "Settings", None)):
            raise TypeError(f"{cls.__name__}.Settings must be a dataclass of its settings")
        REGISTRY[cls.name] = cls

    def __init__(self, model: Model, settings: Any = None) -> None:
        self.model, self.settings = model, self.Settings() if settings is None else settings
        if model.law.fitted_by and self.name not in model.law.fitted_by:
            raise FitError(
                f"{self.name} cannot fit {model.law.name}, which only {', '.join(model.law.fitted_by)} "
                f"give{'s' * (len(model.law.fitted_by) == 1)}; leave the law out to fit {self.default_law}"
            )
        if model.overrides and not self.bayesian:
            raise FitError(
                f"{self.name} uses no priors, and one was given for {model.overrides[0][0]}: leave it out, or fit "
                "with nuts"
            )

    @abstractmethod
    def fit(self, runs: Runs, seed: int = 0, progress: Progress | None = None) -> Fit:
        """Fit the law to the runs; the same seed, table and versions give the same fit."""

    def record(
        self,
        runs: Runs,
        seed: int,
        seconds: Mapping[str, float],
        diagnostics: Diagnostics,
        prior_predictive: Mapping[str, Any] | None = None,
    ) -> Record:
        """What is kept with the fit: the model, the settings, the table and how it went."""
        if not self.bayesian:
            diagnostics = unused(diagnostics, self.name, runs, self.settings)
        return Record(
            law=self.model.law.name,
            reference_run=self.model.law.reference_run,
            model=self.model.spec(),
            procedure=self.name,
            kind=self.kind,
            settings=asdict(self.settings),
            seed=seed,
            table=describe_runs(runs),
            seconds=seconds,
            diagnostics=diagnostics,
            prior_predictive=prior_predictive or {},
            versions=versions(),
        )


def losses(runs: Runs) -> np.ndarray:
    """Losses of the runs (run,), nats per token.

    Raises
    ------
    RunsError
        One is not a finite number above 0.
    """
    values = np.asarray(runs["loss"], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if bad.size:
        raise RunsError(f"run {bad[0] + 1} of {runs.source}: its loss is {values[bad[0]]:.6g}; expected one above 0")
    return values
