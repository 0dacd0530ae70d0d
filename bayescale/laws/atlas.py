"""ATLAS, the multilingual law of Longpre et al. (2025): tokens of other languages count by how much they transfer."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayescale._float64 import jnp
from bayescale.errors import LawError
from bayescale.grouping import Groups
from bayescale.laws._columns import Columns
from bayescale.laws._law import Law
from bayescale.laws._mixtures import Mixture, languages_of, most_sampled, scores_in
from bayescale.laws._repetition import effective
from bayescale.prior import Pooled, Prior, pooled

__all__ = ["Atlas", "guarded"]

# Below this share of the target's own tokens, D_eff is bent so that it stays above zero.
GUARD = 0.2


def guarded(ratio: Any, space: Any = jnp) -> Any:
    """``D_eff / S_t`` where it is above `GUARD`; below, a smooth continuation that stays above zero."""
    below = space.minimum(ratio, GUARD)
    return space.where(ratio > GUARD, ratio, GUARD / (1.0 + (GUARD - below) / GUARD))


class Atlas(Law):
    r"""A floor, and one power law each in parameters and effective tokens, for the loss on one language of many.

    .. math:: L = E + a (N/N_0)^{-\alpha} + b (D_\mathrm{eff}/D_0)^{-\beta},\quad
        D_\mathrm{eff} = S(D_t; U_t) + \sum_{i \in K_t} \tau_i S(D_i; U_i)
        + \tau_\mathrm{other} S(D_\mathrm{other}; U_\mathrm{other})

    with :math:`S(D; U)` the fresh tokens that ``D`` tokens, of which ``U`` differ, are worth: the repetition of the
    data-constrained law, ``lambda_D`` :math:`= 1/R_D^*`. One target language a row: ``E, a, b, alpha, beta`` and
    ``tau_other`` are pooled over targets, ``tau`` over pairs of target and source with a deviation that all sources of
    a target share; ``lambda_D`` is one for all, as published, unless pooled (``lambda_D=pooled(.., over=target)``).

    The table has one row for each run and each language it was measured on: ``target``, ``tokens[xx]`` seen of each
    language, ``unique[xx]`` there are of it. :math:`K_t` are the ``k`` languages that are most sampled with the target.

    ``tau`` needs runs of several mixtures, and ``lambda_D`` runs of several epochs; a fit whose posterior of either is
    the prior says so. Where ``D_eff`` would fall below a fifth of :math:`S(D_t; U_t)` it is bent to stay above zero,
    and the fit lists the rows.

    Parameters
    ----------
    k : int or None
        Sources that have a ``tau`` of their own for each target; None (``all`` in text) for all languages.
    transfer : mapping of (target, source) to float, or path, optional
        Bilingual transfer scores, or a table of them: one row a pair, columns target, source and score. They enter as
        a regressor of ``tau``, by ``BTS / (2 - BTS)`` with a slope and an intercept that are learnt: taken for ``tau``
        itself they would make ``D_eff`` negative in most wide mixtures.
    sources : mapping of str to sequence of str, optional
        :math:`K_t` of each target; settled on the table if absent.

    References
    ----------
    Longpre et al. 2025, arXiv 2510.22037, Eqs. 1-3. The fit of the paper is not described; it publishes neither tau nor
    lambda.

    Examples
    --------
    >>> theta = dict(E=0.7, a=0.08, b=0.24, alpha=0.42, beta=0.42, tau=0.1, tau_other=0.05, lambda_D=0.15)
    >>> round(float(Atlas().loss(1e9, 2e10, 2e10, 1e10, 1e10, 0.0, 1.0, **theta)), 4)
    1.0151
    """

    name = "atlas"
    formula = (
        "L = E + a (N/N0)^-alpha + b (D_eff/D0)^-beta,  "
        "D_eff = S(D_t; U_t) + sum_i tau_i S(D_i; U_i) + tau_other S(D_other; U_other), "
        "S(D; U) = U (1 + (1 - exp(-lambda_D (D/U - 1))) / lambda_D) where D > U, else D; sum over i, tau for each"
    )
    citation = "arXiv:2510.22037"
    N_convention = "total, with embeddings"
    loss_unit = "nats per token, vocabulary-insensitive"
    priors = {
        "E": Prior.parse("TruncatedNormal(0.7, 0.4)"),
        "a": Prior.parse("LogNormal(log(0.08), 1.0)"),
        "b": Prior.parse("LogNormal(log(0.24), 1.0)"),
        "alpha": Prior.parse("LogNormal(log(0.42), 0.4)"),
        "beta": Prior.parse("LogNormal(log(0.42), 0.4)"),
        "tau": Prior.parse("Normal(-0.03, 0.1)"),
        "tau_other": Prior.parse("Normal(0.05, 0.05)"),
        "lambda_D": Prior.parse("LogNormal(log(0.15), 1.0)"),
    }
    linear = ("E", "a", "b")
    powers = {"a": "alpha", "b": "beta"}
    fitted_by = ("nuts",)
    falls_in = ("N",)
    may_be_zero = ("D_i", "D_other")
    either_way = ("D_i", "U_i", "D_other", "U_other")

    def __init__(
        self,
        N0: float = 1e9,
        D0: float = 2e10,
        C0: float | None = None,
        *,
        k: int | None = 3,
        transfer: Mapping[tuple[str, str], float] | Sequence[Sequence[Any]] | str | os.PathLike[str] = (),
        sources: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        super().__init__(N0, D0, C0)
        if k is not None and (type(k) is not int or k < 1):
            raise LawError(f"{self.name}: k is how many sources have a tau of their own: 1 or more, or all; got {k!r}")
        self.k = k
        if sources is not None and not isinstance(sources, Mapping):
            raise LawError(f"{self.name}: sources are given by target, {{'sw': ['en', 'fr']}}; got {sources!r}")
        self.transfer = self._scores(transfer)
        self.sources = tuple(sorted((target, tuple(names)) for target, names in (sources or {}).items()))

    def _scores(self, given: Any) -> tuple[tuple[tuple[str, str], float], ...]:
        found = scores_in(given) if isinstance(given, str | os.PathLike) else given
        pairs = found.items() if isinstance(found, Mapping) else found
        try:
            return tuple(sorted(((str(t), str(s)), float(v)) for (t, s), v in pairs))
        except (TypeError, ValueError):
            raise LawError(
                f"{self.name}: transfer scores are given by (target, source), or in a table; got {given!r}"
            ) from None

    @property
    def needs(self) -> tuple[str, ...]:
        return ("N",)

    @property
    def settings(self) -> dict[str, Any]:
        transfer = [[list(pair), score] for pair, score in self.transfer]
        return {"k": self.k, "transfer": transfer, "sources": {target: list(names) for target, names in self.sources}}

    @property
    def pooled(self) -> Mapping[str, Pooled]:
        by = {"E": "LogNormal(log(0.2), 0.7)"} | dict.fromkeys(("a", "b"), "LogNormal(log(0.35), 0.7)")
        by |= dict.fromkeys(("alpha", "beta"), "LogNormal(log(0.15), 0.7)") | {"tau_other": "LogNormal(log(0.02), 0.7)"}
        made = {n: pooled(self.priors[n], "target", spread) for n, spread in by.items() if n in self.parameters}
        if "tau" not in self.parameters:
            return made
        slope = Prior("Normal", 0.5, 0.5) if self.transfer else None
        pairs = pooled(self.priors["tau"], ("target", "source"), "LogNormal(log(0.05), 0.7)", "target", slope)
        return made | {"tau": pairs}

    def on(self, columns: Columns) -> Atlas:
        """The law with the sources of each target that the table holds."""
        if self.sources:
            return self
        made = type(self)(
            self.N0, self.D0, self.C0, **self.settings | {"sources": most_sampled(Mixture(columns), self.k)}
        )
        return made

    def table_columns(self, columns: Columns) -> tuple[str, ...]:
        return ("target", *(f"{kind}[{name}]" for kind in ("tokens", "unique") for name in languages_of(columns)))

    def read(self, columns: Columns) -> dict[str, Any]:
        if all(name in columns for name in self.inputs):
            return {}
        mixture = Mixture(columns)
        found = mixture.split(self._sources(mixture))
        return {name: values for name, values in found.items() if name in self.inputs}

    def labels(self, columns: Columns) -> Columns:
        mixture = Mixture(columns)
        sources = self._sources(mixture)
        return {"target": mixture.target, "source": np.array([sources[label] for label in mixture.target])}

    def _sources(self, mixture: Mixture) -> dict[str, tuple[str, ...]]:
        """Those settled on, and for a target that was not in the table those it is sampled with now."""
        known = dict(self.sources)
        return most_sampled(mixture, len(next(iter(known.values()))) if known else self.k) | known

    def covariate(self, name: str, groups: Groups) -> Any:
        scores = dict(self.transfer)
        linked = {pair: score / (2.0 - score) for pair, score in scores.items()}
        usual = float(np.mean(list(linked.values())))
        return np.array([linked.get((pair[0], pair[1]), usual) for pair in groups.labels])

    def typical(self, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The run in the middle: of sizes, effective tokens, and how much each of their terms adds to them."""
        ratio, own = self._measured(columns, theta)
        seen = np.column_stack([columns["D_t"], columns["D_i"].reshape(len(own), -1), columns["D_other"]])
        sizes = [np.log(columns["N"]), np.log(guarded(ratio, np) * own)]
        places = np.column_stack([*sizes, seen / seen.sum(axis=1, keepdims=True)])
        apart = (places - places.mean(axis=0)) / np.maximum(places.std(axis=0), 1e-9)
        run = int(np.argmin(np.square(apart).sum(axis=1)))
        return {name: np.asarray(values[run]) for name, values in columns.items()}

    def loss(
        self,
        N: Any,
        D_t: Any,
        U_t: Any,
        D_i: Any,
        U_i: Any,
        D_other: Any,
        U_other: Any,
        *,
        E: Any,
        a: Any,
        b: Any,
        alpha: Any,
        beta: Any,
        tau: Any,
        tau_other: Any,
        lambda_D: Any,
    ) -> Any:
        ratio, own = self._tokens((D_t, U_t, D_i, U_i, D_other, U_other), tau, tau_other, lambda_D)
        log_tokens = jnp.log(guarded(ratio) * own / self.D0)
        return E + a * (N / self.N0) ** -alpha + b * jnp.exp(-beta * log_tokens)

    @staticmethod
    def _tokens(
        seen_and_unique: Sequence[Any], tau: Any, tau_other: Any, lambda_D: Any, space: Any = jnp
    ) -> tuple[Any, Any]:
        """``D_eff / S_t`` without the guard, and ``S_t``, from the inputs of the law after ``N``."""
        D_t, U_t, D_i, U_i, D_other, U_other = seen_and_unique
        own = _worth(D_t, U_t, lambda_D, space)
        by_source = lambda_D if space.ndim(lambda_D) == 0 else space.asarray(lambda_D)[..., None]
        transfer = tau * _worth(D_i, U_i, by_source, space)
        transfer = transfer if space.ndim(transfer) == space.ndim(own) else transfer.sum(axis=-1)
        return 1.0 + (transfer + tau_other * _worth(D_other, U_other, lambda_D, space)) / own, own

    def _measured(self, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """The same of the runs of a table, in NumPy: the groups of a table are of many sizes, none worth a compiler."""
        middle = {name: np.asarray(theta[name]) for name in ("tau", "tau_other", "lambda_D")}
        return self._tokens([np.asarray(columns[name]) for name in self.inputs[1:]], **middle, space=np)

    def remarks(self, columns: Mapping[str, np.ndarray], theta: Mapping[str, Any]) -> tuple[str, ...]:
        """The rows whose effective tokens are under the guard, by the medians of the parameters."""
        names = self.inputs[1:]
        if not set(names) <= set(columns):
            return ()
        ratio, _ = self._measured(columns, theta)
        rows = np.flatnonzero(ratio < GUARD) + 1
        if not rows.size:
            return ()
        listed = ", ".join(map(str, rows[:20])) + (", ..." if rows.size > 20 else "")
        return (
            f"D_eff is below {GUARD} of the target's own tokens, and bent to stay above zero, in {rows.size} of "
            f"{len(ratio)} rows ({listed}): the law as published has no loss there.",
        )


def _worth(seen: Any, unique: Any, rate: Any, space: Any) -> Any:
    return effective(space.asarray(seen), space.asarray(unique), 1.0 / rate, rate, space)
