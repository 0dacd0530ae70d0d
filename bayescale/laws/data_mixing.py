"""The data mixing law of Ye et al. (2024): loss of one domain as an exponential of the shares of all."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jnp
from bayescale.laws._mixture_law import MixtureLaw
from bayescale.laws._shares import over_domains
from bayescale.prior import Prior

__all__ = ["DataMixing"]


class DataMixing(MixtureLaw):
    r"""A floor, and above it the geometric mean of what each domain alone would leave, weighted by its share.

    .. math:: L(r) = c + k \exp\Big(\sum_j t_j r_j\Big) = c + \prod_j k_j^{r_j},\quad k_j = k\, e^{t_j}

    One law for each loss, at one size of model and one length of training; ``r`` are the shares of all domains,
    columns ``share[xx]`` of the table. The shares add up to 1, so a constant can be added to all :math:`t_j` and taken
    out of ``k``: only the :math:`k_j` are determined, nats above the floor ``c`` after training on domain ``j`` alone,
    and those are the parameters. A domain with a smaller :math:`k_j` than others helps. `published` gives ``k`` and
    ``t`` at the uniform mixture.

    The best mixture for one loss is under this law all of one domain; for a sum of losses it lies inside.

    References
    ----------
    Ye et al. 2024, arXiv 2403.16952: one such law for each validation domain.

    Examples
    --------
    >>> law = DataMixing()
    >>> k = [0.5, 2.0, 2.0]
    >>> round(float(law.loss([0.5, 0.25, 0.25], c=1.0, k=k)), 3), round(float(law.loss([1.0, 0.0, 0.0], c=1.0, k=k)), 3)
    (2.0, 1.5)
    """

    name = "data-mixing"
    formula = "L(r) = c + product over domains of k^r,  published as c + k exp(sum_j t_j r_j) with k_j = k exp(t_j)"
    citation = "arXiv:2403.16952"
    priors = {"c": Prior.parse("LogNormal(log(1.5), 0.7)"), "k": Prior.parse("LogNormal(log(1.0), 1.0)")}
    mixture = "r"
    spreads = {"k": "LogNormal(log(1.5), 0.8)"}
    falls_in = ()
    may_be_zero = ("r",)
    either_way = ("r",)

    def loss(self, r: Any, *, c: Any, k: Any) -> Any:
        shares = jnp.asarray(getattr(r, "value", r))
        return c + jnp.exp(over_domains(shares * jnp.log(jnp.asarray(k)), k))

    @staticmethod
    def published(k: Any) -> dict[str, Any]:
        """The paper's ``k`` (...) and ``t`` (..., domain); ``t`` adds up to 0, so that ``k`` is of a uniform mixture.

        Examples
        --------
        >>> found = DataMixing.published([0.5, 2.0])
        >>> float(found["k"]), [round(float(t), 3) for t in found["t"]]
        (1.0, [-0.693, 0.693])
        """
        logs = jnp.log(jnp.asarray(k))
        middle = logs.mean(axis=-1)
        return {"k": jnp.exp(middle), "t": logs - middle[..., None]}
