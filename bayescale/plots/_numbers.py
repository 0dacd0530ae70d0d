"""How numbers are written in the pictures: 70B parameters, 10^21 FLOPs, 1.805 [1.780, 1.831]."""

from __future__ import annotations

import math
import re

__all__ = ["estimate", "flops", "quantity", "symbol", "times"]

_SUFFIXES = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
_GREEK = frozenset(
    [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "zeta",
        "eta",
        "theta",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "phi",
        "chi",
        "psi",
        "omega",
    ]
)


def quantity(value: float, digits: int = 3) -> str:
    """A count of parameters or tokens: ``70B``, ``1.4T``, ``125M``, ``6.29K``.

    Parameters
    ----------
    value : float
        The count.
    digits : int
        Significant digits kept.

    Returns
    -------
    str
        The count with a suffix; a power of ten as mathtext from 1e15 on, a plain number below 1000.

    Examples
    --------
    >>> quantity(70e9), quantity(1.4e12), quantity(6288)
    ('70B', '1.4T', '6.29K')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    rounded = float(f"{value:.{digits}g}")  # rounding first: 999.9e6 is 1B, not 1000M
    if abs(rounded) >= 1e15:
        return flops(value, digits)
    for unit, suffix in _SUFFIXES:
        if abs(rounded) >= unit:
            return f"{rounded / unit:.{max(digits, 3)}g}{suffix}"
    return f"{rounded:g}"


def flops(value: float, digits: int = 3) -> str:
    r"""A number of FLOPs as mathtext: ``10^{21}``, ``5.76×10^{23}``.

    Parameters
    ----------
    value : float
        The number of floating-point operations, positive.
    digits : int
        Significant digits kept.

    Returns
    -------
    str
        Mathtext in the regular font.

    Examples
    --------
    >>> flops(1e21)
    '$\\mathregular{10^{21}}$'
    """
    if value <= 0 or not math.isfinite(value):
        return f"{value:g}"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = f"10^{{{int(exponent)}}}"
    # The braces keep mathtext from putting the wide space of a binary operator around the sign.
    return rf"$\mathregular{{{power}}}$" if mantissa == "1" else rf"$\mathregular{{{mantissa}{{\times}}{power}}}$"


def times(ratio: float) -> str:
    """A ratio for an annotation: ``2.5×``, ``10×``, ``3000×``, and a power of ten from 10,000 on.

    Parameters
    ----------
    ratio : float
        The ratio, positive.

    Returns
    -------
    str
        Two significant digits and a multiplication sign.

    Examples
    --------
    >>> times(10.2)
    '10×'
    """
    rounded = float(f"{ratio:.2g}")
    return f"{rounded:g}×" if rounded < 1e4 else f"{flops(rounded, 2)}×"


def estimate(median: float, low: float, high: float) -> str:
    """A median with its interval, to the digits that the interval's width can carry.

    Parameters
    ----------
    median, low, high : float
        The median and the ends of the interval, in one unit.

    Returns
    -------
    str
        ``"1.805 [1.780, 1.831]"``; the median alone where the interval has no width.

    Examples
    --------
    >>> estimate(1.8049, 1.7801, 1.8312)
    '1.805 [1.780, 1.831]'
    """
    if not all(math.isfinite(x) for x in (median, low, high)):
        return f"{median:.4g} [{low:.4g}, {high:.4g}]"
    largest = max(abs(median), abs(low), abs(high))
    width = high - low
    if width <= 1e-12 * largest or width == 0:
        return f"{median:.4g}"
    exponent = math.floor(math.log10(largest))
    power = exponent if exponent >= 5 or exponent <= -4 else 0
    # Two digits of the interval's width, so that both ends differ visibly and no digit is noise.
    decimals = max(0, min(9, 1 - math.floor(math.log10(width / 10.0**power))))
    shown = (f"{x / 10.0**power:z.{decimals}f}" for x in (median, low, high))
    text = "{} [{}, {}]".format(*shown)
    return text if power == 0 else rf"{text}$\mathregular{{{{\times}}10^{{{power}}}}}$"


def symbol(name: str) -> str:
    """A parameter's name as it is set on paper: ``alpha`` as a Greek letter, ``sigma_N`` with an index.

    Parameters
    ----------
    name : str
        The name in code, with an index in brackets if it has one (``a[en]``).

    Returns
    -------
    str
        Mathtext for letters, words with blanks for the rest (``N_exponent`` is ``N exponent``).

    Examples
    --------
    >>> symbol("alpha"), symbol("N_exponent")
    ('$\\\\alpha$', 'N exponent')
    """
    match = re.fullmatch(r"([^\[\]]+)(\[.*\])?", name)
    stem, index = (match.group(1), match.group(2) or "") if match else (name, "")
    head, _, tail = stem.partition("_")
    index = index.replace("$", r"\$")
    if (head in _GREEK or (len(head) == 1 and head.isalpha())) and len(tail) <= 2:
        base = rf"\{head}" if head in _GREEK else head
        return rf"${base}_{{\mathrm{{{tail}}}}}${index}" if tail else f"${base}${index}"
    return stem.replace("_", " ").replace("$", r"\$") + index
