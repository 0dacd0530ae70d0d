"""Two fits in a row, draw by draw."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayescale._float64 import jax, jnp
from bayescale.errors import FitError, TargetError
from bayescale.fits import Fit
from bayescale.forecast import new_run
from bayescale.laws import Law, get
from bayescale.laws.sigmoid import Sigmoid
from bayescale.procedures import fit, reference_for
from bayescale.runs import Runs, RunsError

__all__ = ["Chain", "fit_chain"]

FILES = {"nll": "nll.nc", "accuracy": "accuracy.nc"}


@dataclass(frozen=True)
class Chain:
    """The two stages of a downstream forecast.

    Attributes
    ----------
    nll : Fit
        Of the negative log-likelihood of the right answers, in compute or in N and D.
    accuracy : Fit
        Of the error, 1 - accuracy, in the negative log-likelihood (`bayescale.laws.sigmoid`).
    """

    nll: Fit
    accuracy: Fit

    @property
    def doubts(self) -> dict[str, tuple[str, ...]]:
        """Reasons not to trust a stage, by stage."""
        stages = {"nll": self.nll, "accuracy": self.accuracy}
        return {name: fit.diagnostics.warnings for name, fit in stages.items() if fit.diagnostics.warnings}

    @property
    def ok(self) -> bool:
        """Whether there is no reason to distrust either stage."""
        return not self.doubts

    def forecast(self, targets: Any, seed: int = 0) -> xr.Dataset:
        """Accuracy of runs that have not been trained.

        The likelihood of the data is a product of one factor for each stage, which share no parameter: draws of the
        two posteriors, paired at random, are draws of both.

        Parameters
        ----------
        targets : mapping, DataFrame or Runs
            As for `Fit.forecast` of the first stage: ``{"C": [1e24]}``.
        seed : int
            Of the pairing and of the noise of new runs.

        Returns
        -------
        xarray.Dataset
            Over (sample, run): ``nll`` and ``accuracy``, the laws of the two stages; ``new_run_nll`` and
            ``new_run_accuracy``, one run with the scatter of both. Coordinates as those of the first stage, and
            ``nll_beyond``: how far the median of ``nll`` lies below the lowest of the runs behind the sigmoid, in units
            of their range.

        Raises
        ------
        TargetError
            A column is missing or is not positive.
        """
        first = self.nll.forecast(targets, seed=seed)
        size = first.sizes["sample"]
        order = np.random.default_rng([seed, 61]).permutation(size) % len(next(iter(self.accuracy.theta.values())))
        theta = {name: jnp.asarray(values[order]) for name, values in self.accuracy.theta.items()}
        likely, observed = (first[name].values for name in ("mean_loss", "new_run_loss"))
        error = _error(self.accuracy.law, theta, likely)
        scattered = new_run(self.accuracy.model, theta, _error(self.accuracy.law, theta, observed), {}, seed + 1)
        seen = np.asarray(self.accuracy.runs["nll"])
        beyond = (seen.min() - np.median(likely, axis=0)) / np.ptp(seen)
        made = {
            "nll": likely,
            "accuracy": 1.0 - np.asarray(error),
            "new_run_nll": observed,
            "new_run_accuracy": 1.0 - np.minimum(scattered, 1.0),
        }
        variables = {name: (first["mean_loss"].dims, values) for name, values in made.items()}
        return xr.Dataset(
            variables, coords=first.coords, attrs=first.attrs | {"warnings": _listed(self.doubts)}
        ).assign_coords(nll_beyond=(first["mean_loss"].dims[1], beyond))

    def save(self, folder: str | Path) -> list[Path]:
        """Write ``nll.nc`` and ``accuracy.nc`` into a folder. Returns the paths."""
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FitError(f"cannot write into {place}: {error.strerror or error}") from None
        return [self.nll.save(place / FILES["nll"]), self.accuracy.save(place / FILES["accuracy"])]

    @classmethod
    def load(cls, folder: str | Path) -> Chain:
        """Read a chain written by `save`."""
        return cls(*(Fit.load(Path(folder) / name) for name in FILES.values()))

    def __repr__(self) -> str:
        lines = ["diagnostics: ok"] if self.ok else [f"DO NOT TRUST THE STAGE {', '.join(self.doubts)}"]
        lines += [f"  ! {said}" for said in _listed(self.doubts)]
        for title, stage in (("compute to likelihood", self.nll), ("likelihood to accuracy", self.accuracy)):
            table = pd.DataFrame(stage.summary())[["q05", "median", "q95"]]
            lines += ["", f"{title}: {stage.law.name}, {stage.law.formula}; {len(stage.runs)} runs"]
            lines += [table.to_string(float_format=lambda value: f"{value:.4g}")]
        return "\n".join(lines)


def fit_chain(
    table: str | Path | pd.DataFrame,
    nll: str,
    accuracy: str,
    *,
    law: str | Law = "log-linear",
    chance: float | None = None,
    ceiling: float | None = None,
    **options: Any,
) -> Chain:
    """Fit the two stages of a downstream forecast to a table of runs.

    Parameters
    ----------
    table : str, path or DataFrame
        One row a run, with its compute (or N and D), and for the task the negative log-likelihood of the right answers
        and the accuracy.
    nll, accuracy : str
        Their columns: per character, byte or token, as the table has it; a fraction, or with a unit ``"acc
        (accuracy %)"``.
    law : str or Law
        Of the first stage: ``"log-linear"`` as published, or any law of `bayescale laws`, such as ``"chinchilla"``.
    chance, ceiling : float, optional
        The accuracy of guessing, and that which is approached; estimated where they are not given. Runs far below the
        ceiling say nothing of it, and the fit then warns that it rests on its prior.
    **options
        ``columns`` and ``where``, as in `Runs.read`; ``accuracy_where``, other rows for the second stage, which may be
        runs of another family; and those of `bayescale.fit`: ``noise``, ``seed``, ``draws`` and so on, for both stages.

    Returns
    -------
    Chain

    Raises
    ------
    BayescaleError
        A table, column, law or setting that cannot be used; the message says what to try.

    References
    ----------
    Llama Team 2024, arXiv 2407.21783, Sec. 3.2.1; Bhagia et al. 2024, arXiv 2412.04403.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> C = np.geomspace(1e19, 1e22, 12)
    >>> likely = 1.0 - 0.06 * np.log(C / 1e20) + 0.004 * np.sin(40 * np.log(C))
    >>> right = 0.25 + 0.75 / (1 + np.exp((likely - 0.7) / 0.1))
    >>> runs = pd.DataFrame({"C": C, "task_nll": likely, "task_acc": right + 0.004 * np.cos(50 * np.log(C))})
    >>> chain = fit_chain(runs, "task_nll", "task_acc", chance=0.25, ceiling=1.0, noise="normal", draws=250)
    >>> ahead = chain.forecast({"C": [1e23]})["accuracy"]
    >>> bool(abs(ahead.median() - 0.82) < 0.03)
    True
    """
    pinned = _pinned(chance, ceiling)
    columns: Mapping[str, str] = options.pop("columns", None) or {}
    where = options.pop("where", None)
    rows = options.pop("accuracy_where", where)
    made = law if isinstance(law, Law) else get(law)()
    first = _read(table, "nll", {**columns, "loss": nll}, where, made.needs)
    named = accuracy if accuracy.rstrip().endswith(")") else f"{accuracy} (accuracy)"
    second = _read(table, "accuracy", {"loss": named, "nll": nll}, rows, Sigmoid().needs)
    made = made if isinstance(law, Law) else reference_for(made, first)
    return Chain(fit(first, made, **options), fit(second, Sigmoid(), priors=pinned, **options))


def _pinned(chance: float | None, ceiling: float | None) -> dict[str, float]:
    """Parameters of the sigmoid that are known."""
    for name, value in (("chance", chance), ("ceiling", ceiling)):
        if value is not None and not 0.0 <= value <= 1.0:
            raise TargetError(f"{name} is an accuracy, a fraction from 0 to 1, such as 0.25; got {value}")
    if ceiling is not None and (chance is None or ceiling <= chance):
        raise TargetError(f"a ceiling of {ceiling} goes with a chance level below it; got {chance}")
    known = {} if chance is None else {"g": chance}
    return known if ceiling is None or chance is None else known | {"u": (1.0 - ceiling) / (1.0 - chance)}


def _read(table: Any, stage: str, columns: Mapping[str, str], where: str | None, needs: tuple[str, ...]) -> Runs:
    try:
        return Runs.read(table, columns=columns, where=where, needs=(*needs, "loss"))
    except RunsError as error:
        raise RunsError(f"stage {stage}: {error}", error.problems) from None


def _error(law: Law, theta: Mapping[str, Any], likely: np.ndarray) -> Any:
    """The law's error (sample, run) at each draw's likelihoods (sample, run)."""
    drawn = {name: theta[name] for name in law.parameters}
    return jax.vmap(lambda draw, nll: law.loss(nll, **draw))(drawn, jnp.asarray(likely))


def _listed(doubts: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [f"{name}: {said}" for name, warnings in doubts.items() for said in warnings]
