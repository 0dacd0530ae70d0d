"""The curse of multilinguality: loss by the number of languages that share a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescale._float64 import jnp
from bayescale.errors import RunsError
from bayescale.laws._law import Law
from bayescale.laws.chinchilla import Chinchilla
from bayescale.prior import Prior

__all__ = ["Curse"]

# Beyond it the two logarithms differ by a fifth of a per cent of their variance: rounding, not design.
COLLINEAR = 0.999


class Curse(Law):
    r"""Chinchilla on the target's tokens, in which ``K`` languages that share a model scale either term.

    .. math:: L(K, N, D_t) = E + a K^{\phi} (N/N_0)^{-\alpha} + b K^{\psi} (D_t/D_0)^{-\beta},\qquad D_t = D/K

    The column ``D`` is all tokens, of which each language has one K-th (even sampling), so that ``C = 6 N D`` is the
    compute. With one language it is Chinchilla in the same parameters. ``phi`` above 0 is the capacity that languages
    take from each other, ``psi`` below 0 the data that they lend each other.

    Going from ``K`` to ``r K`` languages costs a compute-optimal run, for the same loss, a factor ``r**iso_N`` in
    parameters, ``r**iso_D_t`` in tokens of each language, ``r**iso_D`` in all tokens and ``r**iso_C`` in compute, with
    ``iso_N`` :math:`= \phi/\alpha`, ``iso_D_t`` :math:`= \psi/\beta`, ``iso_D`` :math:`= 1 + \psi/\beta` and ``iso_C``
    :math:`= 1 + \phi/\alpha + \psi/\beta`; `iso_loss` gives the factors.

    ``psi`` is told from ``beta`` only by runs whose tokens differ at one number of languages: where all runs have the
    same ``D``, tokens and languages are one variable, and the table is refused.

    References
    ----------
    Longpre et al. 2025, arXiv 2510.22037, Eq. 7; phi .11, psi -.04 over all languages.

    Examples
    --------
    >>> law = Curse()
    >>> theta = dict(E=0.8, a=0.3, b=0.3, alpha=0.45, beta=0.15, phi=0.11, psi=-0.04)
    >>> [round(float(law.loss(1e9, 4e11, K, **theta)), 3) for K in (1, 8, 16)]
    [1.291, 1.418, 1.467]
    >>> {name: round(float(factor), 2) for name, factor in law.iso_loss(2.0, **theta).items()}
    {'N': 1.18, 'D_t': 0.83, 'D': 1.66, 'C': 1.97}
    """

    name = "curse"
    formula = (
        "L(N, D, K) = E + a K^phi (N/N0)^-alpha + b K^psi (D/(K D0))^-beta,  A = a N0^alpha, B = b D0^beta;  "
        "K languages sampled evenly, D tokens in all"
    )
    citation = "arXiv:2510.22037"
    loss_unit = "nats per token, vocabulary-insensitive in the source"
    N_convention = "with embeddings"
    priors = {
        "E": Prior.parse("LogNormal(log(1), 0.8)"),
        **{name: Chinchilla.priors[name] for name in ("a", "b", "alpha", "beta")},
        "phi": Prior.parse("Normal(0.1, 0.1)"),
        "psi": Prior.parse("Normal(0, 0.1)"),
    }
    linear = ("E", "a", "b")
    falls_in = ("N", "D")
    rises_in = ("K",)

    def loss(
        self, N: Any, D: Any, K: Any = 1.0, *, E: Any, a: Any, b: Any, alpha: Any, beta: Any, phi: Any, psi: Any
    ) -> Any:
        of_N = a * K**phi * (N / self.N0) ** -alpha
        return E + of_N + b * K ** (psi + beta) * (D / self.D0) ** -beta

    def derived(self, *, a: Any, b: Any, alpha: Any, beta: Any, phi: Any, psi: Any, **_: Any) -> dict[str, Any]:
        """Chinchilla's of one language, and the exponents of the iso-loss factors."""
        of_N, of_D = phi / alpha, psi / beta
        return self._alone.derived(a=a, b=b, alpha=alpha, beta=beta) | {
            "iso_N": of_N,
            "iso_D_t": of_D,
            "iso_D": 1.0 + of_D,
            "iso_C": 1.0 + of_N + of_D,
        }

    def iso_loss(self, ratio: Any, *, alpha: Any, beta: Any, phi: Any, psi: Any, **_: Any) -> dict[str, Any]:
        """What `ratio` times as many languages cost a compute-optimal run at the same loss in each of them.

        Parameters
        ----------
        ratio : float
            Languages after, over languages before.
        alpha, beta, phi, psi : float or array
            One value of each, or draws.

        Returns
        -------
        dict of str to float or array
            Factors of ``N``, of the tokens of each language ``D_t``, of all tokens ``D``, and of compute ``C``. The
            new run is compute-optimal too.
        """
        of_N, of_D = ratio ** (phi / alpha), ratio ** (psi / beta)
        return {"N": of_N, "D_t": of_D, "D": ratio * of_D, "C": of_N * ratio * of_D}

    def iso_loss_tokens(self, ratio: Any, size: Any, *, alpha: Any, beta: Any, phi: Any, psi: Any, **_: Any) -> Any:
        """Factor of each language's tokens at the same loss, for a model `size` times the compute-optimal one.

        Infinite where a model of that size cannot hold `ratio` times as many languages at the loss, whatever the data.

        Parameters
        ----------
        ratio, size : float
            Factors of the number of languages and of the parameters.
        alpha, beta, phi, psi : float or array
            One value of each, or draws.
        """
        left = 1.0 - ratio**phi * beta / (alpha + beta) * size**-alpha
        data = ratio**psi * alpha / (alpha + beta)
        return jnp.where(left > 0, (data / jnp.where(left > 0, left, 1.0)) ** (1.0 / beta), jnp.inf)

    def optimum(
        self,
        compute: Any,
        *,
        K: Any = 1.0,
        a: Any,
        b: Any,
        alpha: Any,
        beta: Any,
        phi: Any = 0.0,
        psi: Any = 0.0,
        **_: Any,
    ) -> tuple[Any, Any]:
        return self._alone.optimum(compute, a=a * K**phi, b=b * K ** (psi + beta), alpha=alpha, beta=beta)

    def exponents(self, compute: Any, *, alpha: Any, beta: Any, **_: Any) -> tuple[Any, Any]:
        return beta / (alpha + beta), alpha / (alpha + beta)

    def check_runs(self, columns: Mapping[str, Any]) -> None:
        """Refuse a table in which tokens and languages are one variable; see `Law.check_runs`."""
        languages, tokens = np.log(np.asarray(columns["K"])), np.log(np.asarray(columns["D"]))
        apart = tokens - languages
        if min(len(languages), np.ptp(languages), np.ptp(apart)) <= 0:
            return  # a column that never varies is what the priors are for
        shared = float(np.corrcoef(languages, apart)[0, 1])
        if abs(shared) > COLLINEAR:
            raise RunsError(
                f"curse cannot tell languages from tokens here: corr(ln K, ln D_t) is {shared:.5f}, with D_t = D/K the "
                "tokens of each language, so that only psi + beta is determined. Add runs whose total tokens D differ "
                "at the same number of languages, by a factor of 10 or more"
            )

    @property
    def _alone(self) -> Chinchilla:
        return Chinchilla(self.N0, self.D0, self.C0)
