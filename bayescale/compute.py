"""Compute arithmetic: training FLOPs, PF-days, accelerator time, and quantities as people write them.

Everything is float64 from the first operation: ``6 * N * D`` in int64 overflows without a warning at 7e9 x 2e12.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescale.errors import BayescaleError

__all__ = [
    "FLOPS_PER_PF_DAY",
    "QuantityError",
    "accelerator_seconds",
    "format_quantity",
    "parse_quantity",
    "pf_days",
    "training_flops",
    "training_parameters",
    "training_tokens",
]

FLOPS_PER_PF_DAY: float = 8.64e19
"""FLOPs in one petaFLOP/s-day: 1e15 a second for 86,400 seconds."""


class QuantityError(BayescaleError, ValueError):
    """A number that cannot be read, or that could be read in two ways.

    Attributes
    ----------
    reason : str
        What is wrong with it, without the number itself.
    """

    def __init__(self, shown: str, reason: str) -> None:
        super().__init__(f"{shown} {reason}")
        self.reason = reason


def training_flops(N: ArrayLike, D: ArrayLike) -> NDArray[np.float64]:
    """FLOPs of one training run, forward and backward: C = 6 N D.

    Parameters
    ----------
    N : array_like
        Parameters.
    D : array_like
        Training tokens; broadcasts against `N`.

    Returns
    -------
    numpy.ndarray
        FLOPs, float64; a scalar array where both inputs are scalars.

    References
    ----------
    Kaplan et al. 2020, arXiv:2001.08361, section 2.1.

    Examples
    --------
    >>> float(training_flops(70e9, 1.4e12))
    5.88e+23
    """
    return 6.0 * np.asarray(N, dtype=np.float64) * np.asarray(D, dtype=np.float64)


def training_tokens(C: ArrayLike, N: ArrayLike) -> NDArray[np.float64]:
    """Tokens that a budget trains: D = C / (6 N).

    Parameters
    ----------
    C : array_like
        FLOPs.
    N : array_like
        Parameters; broadcasts against `C`.

    Returns
    -------
    numpy.ndarray
        Tokens, float64.

    Examples
    --------
    >>> float(training_tokens(6e21, 1e9))
    1000000000000.0
    """
    return np.asarray(C, dtype=np.float64) / (6.0 * np.asarray(N, dtype=np.float64))


def training_parameters(C: ArrayLike, D: ArrayLike) -> NDArray[np.float64]:
    """Parameters that a budget trains on `D` tokens: N = C / (6 D).

    Parameters
    ----------
    C : array_like
        FLOPs.
    D : array_like
        Training tokens; broadcasts against `C`.

    Returns
    -------
    numpy.ndarray
        Parameters, float64.

    Examples
    --------
    >>> float(training_parameters(6e21, 1e12))
    1000000000.0
    """
    return training_tokens(C, D)


def pf_days(flops: ArrayLike) -> NDArray[np.float64]:
    """Compute in petaFLOP/s-days (8.64e19 FLOPs each).

    Parameters
    ----------
    flops : array_like
        FLOPs.

    Returns
    -------
    numpy.ndarray
        PF-days, float64.

    Examples
    --------
    >>> float(pf_days(8.64e20))
    10.0
    """
    return np.asarray(flops, dtype=np.float64) / FLOPS_PER_PF_DAY


def accelerator_seconds(
    flops: ArrayLike, *, peak_flops: float, utilisation: float = 0.4, accelerators: int = 1
) -> NDArray[np.float64]:
    """Wall-clock seconds that a budget takes.

    Parameters
    ----------
    flops : array_like
        FLOPs of the training run.
    peak_flops : float
        Peak of one accelerator in FLOP per second, at the precision trained in.
    utilisation : float
        Share of the peak that training reaches (model FLOPs utilisation), in (0, 1].
    accelerators : int
        How many work at once.

    Returns
    -------
    numpy.ndarray
        Seconds, float64.

    Raises
    ------
    QuantityError
        A peak that is not positive, a utilisation outside (0, 1], or fewer than one accelerator.

    Examples
    --------
    >>> float(accelerator_seconds(4e20, peak_flops=1e15, utilisation=0.4, accelerators=10))
    100000.0
    """
    if not peak_flops > 0 or not np.isfinite(peak_flops):
        raise QuantityError("peak_flops", f"is {peak_flops!r}; expected FLOP per second above zero, such as 1e15")
    if not 0 < utilisation <= 1:
        raise QuantityError("utilisation", f"is {utilisation!r}; expected a share in (0, 1], such as 0.4 for 40 %")
    if accelerators < 1:
        raise QuantityError("accelerators", f"is {accelerators!r}; expected at least 1")
    return np.asarray(flops, dtype=np.float64) / (peak_flops * utilisation * accelerators)


_DECADES = {
    **{"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6},
    **{"b": 9, "bn": 9, "billion": 9, "t": 12, "trillion": 12},
}
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_PLAIN = re.compile(rf"{_NUMBER}(?:[eE][+-]?[0-9]+)?")
_SUFFIXED = re.compile(rf"({_NUMBER})\s*({'|'.join(sorted(_DECADES, key=len, reverse=True))})", re.IGNORECASE)
_INNER_SUFFIX = re.compile(r"([0-9]+)([kmbt])([0-9]+)", re.IGNORECASE)
_GROUPED = re.compile(r"[+-]?[0-9]{1,3}(?:([,_ \u00a0\u202f'])[0-9]{3})(?:\1[0-9]{3})*(\.[0-9]*)?")
_UNIT_WORD = re.compile(r"\s*(?:parameters?|params?|tokens?|flops?)\s*$", re.IGNORECASE)
_EXPECTED = "expected a number such as 70B, 1.4T, 350M, 2b8, 3e21 or 1,300,000,000"


def parse_quantity(text: str | float) -> float:
    """A count of parameters, tokens or FLOPs as people write it.

    Parameters
    ----------
    text : str or float
        ``"70B"``, ``"1.4T"``, ``"350M"``, ``"125m"``, ``"2b8"`` (= 2.8e9), ``"3e21"``, ``"1,300,000,000"``; a number
        is handed back as float64. Suffixes K, M, B, T are powers of a thousand in either case.

    Returns
    -------
    float
        The quantity; never NaN or infinite. The sign is kept: whether it may be negative is the caller's to say.

    Raises
    ------
    QuantityError
        Text that is no number, is not finite, or could be read in two ways: in ``"3,21"`` the comma may be a decimal
        comma, and ``"1,300B"`` is 1.3e9 or 1.3e12 by where one writes it.

    Examples
    --------
    >>> parse_quantity("1.4T"), parse_quantity("2b8"), parse_quantity("1,300,000,000")
    (1400000000000.0, 2800000000.0, 1300000000.0)
    """
    if isinstance(text, bool | np.bool_):
        raise QuantityError(str(text), f"is not a number; {_EXPECTED}")
    if not isinstance(text, str):
        return _finite(lambda: float(text), repr(text))
    cleaned = _UNIT_WORD.sub("", text.strip().replace("\u2212", "-"))
    shown = repr(text if len(text) <= 60 else text[:57] + "...")
    if _PLAIN.fullmatch(cleaned):
        return _finite(lambda: float(cleaned), shown)
    if match := _SUFFIXED.fullmatch(cleaned):
        # Through text, so that 1.4T is the float nearest 1.4e12 and not 1.4 * 1e12 rounded twice.
        scaled = f"{match[1]}e{_DECADES[match[2].lower()]}"
        return _finite(lambda: float(scaled), shown)
    if match := _INNER_SUFFIX.fullmatch(cleaned):
        inner = f"{match[1]}.{match[3]}e{_DECADES[match[2].lower()]}"
        return _finite(lambda: float(inner), shown)
    if match := _GROUPED.fullmatch(cleaned):
        digits = cleaned.replace(match[1], "")
        return _finite(lambda: float(digits), shown)
    raise QuantityError(shown, _refusal(cleaned))


def format_quantity(value: float) -> str:
    """A count in the shortest form that a person reads at a glance, to three digits.

    Parameters
    ----------
    value : float
        Parameters, tokens or FLOPs.

    Returns
    -------
    str
        ``"70B"``, ``"1.4T"``; powers of ten below a thousand and from 1e15 up.

    Examples
    --------
    >>> format_quantity(7.02e9), format_quantity(5.76e23)
    ('7.02B', '5.76e+23')
    """
    # Rounded first, so that 999.9 billion is 1T and not 1e+03B.
    size = abs(value := float(f"{value:.3g}"))
    for suffix, decade in (("T", 12), ("B", 9), ("M", 6), ("K", 3)):
        if float(f"1e{decade}") <= size < 1e15:
            return f"{value / 10**decade:.3g}{suffix}"
    return f"{value:.3g}"


def _finite(read: Callable[[], float], shown: str) -> float:
    try:
        value = read()
    except OverflowError:
        value = float("inf")
    except (TypeError, ValueError):
        raise QuantityError(shown, f"is not a number; {_EXPECTED}") from None
    if not np.isfinite(value):
        raise QuantityError(shown, f"is not a finite number; {_EXPECTED}")
    return value


def _refusal(cleaned: str) -> str:
    if not cleaned:
        return f"holds no number; {_EXPECTED}"
    if re.fullmatch(r"[+-]?[0-9]+,[0-9]+.*", cleaned):
        return (
            "could be read in two ways, because its comma may be a decimal comma or a thousands separator; "
            "write a decimal point (3.21), or digits without commas"
        )
    if re.fullmatch(r"[+-]?[0-9]{1,3}(?:\.[0-9]{3}){2,}", cleaned):
        return "has more than one decimal point; write thousands as 1,300,000,000 or as plain digits"
    return f"is not a number; {_EXPECTED}"
