"""M4: a curve that saturates at both ends."""

from __future__ import annotations

from typing import Any

from bayescale._float64 import jax, jnp
from bayescale.laws._law import Law
from bayescale.laws._positive import log
from bayescale.laws.m2 import M2
from bayescale.prior import Prior

__all__ = ["M4"]

# The slope of the equation lies between 1 and alpha and is monotone, so that Newton's steps from its steeper end never
# overshoot: with alpha within a factor of 30 of 1, twelve leave an error of an ulp.
STEPS = 12


def _remaining(target: Any, alpha: Any) -> Any:
    """The share u of the drop that is left, with ``log u - alpha log(1 - u) = target``; shape of `target`."""

    def gap(logit: Any, alpha: Any, target: Any) -> Any:
        return alpha * jax.nn.softplus(logit) - jax.nn.softplus(-logit) - target

    def slope(logit: Any, alpha: Any) -> Any:
        share = jax.nn.sigmoid(logit)
        return 1.0 - share + alpha * share

    # solved without derivatives; the last step, which changes nothing, carries those of the implicit function
    held_target, held_alpha = jax.lax.stop_gradient(target), jax.lax.stop_gradient(alpha)
    logit = jnp.where(held_target < 0, held_target, held_target / held_alpha)
    for _ in range(STEPS):
        logit = logit - gap(logit, held_alpha, held_target) / slope(logit, held_alpha)
    logit = jax.lax.stop_gradient(logit)
    logit = logit - gap(logit, alpha, target) / jax.lax.stop_gradient(slope(logit, held_alpha))
    return jax.nn.sigmoid(logit)


class M4(Law):
    r"""From the error of guessing to a floor, with a power law in between.

    .. math:: \frac{\epsilon - \epsilon_\infty}{(\epsilon_0 - \epsilon)^{\alpha}} = \beta x^{-c}

    With :math:`u` the share of the drop :math:`H = \epsilon_0 - \epsilon_\infty` that is left, this is
    :math:`u / (1 - u)^\alpha = (r / H) (D/D_0)^{-c}` and :math:`\epsilon = E + H u`. ``r`` is what the power law alone
    would have above the floor at ``D0``, ``H`` the whole drop, and ``alpha`` how suddenly it begins. A curve without
    its flat beginning leaves ``H`` and ``alpha`` to their priors.

    References
    ----------
    Alabdulmohsin et al. 2022, arXiv 2209.06640.

    Examples
    --------
    >>> law = M4().at(D=1e6)
    >>> [round(float(law.loss(D, E=0.1, H=0.8, r=0.4, c=0.5, alpha=1.0)), 3) for D in (1.0, 1e6, 1e12)]
    [0.898, 0.367, 0.1]
    """

    name = "m4"
    formula = "L(D) = E + H u,  u / (1 - u)^alpha = (r/H) (D/D0)^-c;  e_0 = E + H"
    citation = "arXiv:2209.06640"
    loss_unit = "as in the table"
    priors = {
        "E": M2.priors["E"],
        "H": Prior.parse("LogNormal(log(2), 1.0)"),
        "r": M2.priors["r"],
        "c": M2.priors["c"],
        "alpha": Prior.parse("LogNormal(log(1), 0.5)"),
    }
    linear = ()
    falls_in = ()

    def loss(self, D: Any, *, E: Any, H: Any, r: Any, c: Any, alpha: Any) -> Any:
        return E + H * _remaining(jnp.log(r) - jnp.log(H) - c * log(D / self.D0), alpha)

    def derived(self, *, E: Any, H: Any, r: Any, c: Any, alpha: Any) -> dict[str, Any]:
        return {"e_0": E + H, "beta": r * H**-alpha * self.D0**c}
