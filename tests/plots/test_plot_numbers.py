"""Numbers as the pictures write them."""

import pytest

from bayescale.plots._numbers import estimate, flops, quantity, symbol, times


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (70e9, "70B"), (1.4e12, "1.4T"), (125e6, "125M"), (6288, "6.29K"), (512, "512"), (0.5, "0.5"), (0, "0"),
        (999.9e6, "1B"), (999.4e6, "999M"), (999.9e9, "1T"), (100e9, "100B"), (123456e9, "123T"),
        (2e15, flops(2e15)), (float("nan"), "nan"),
    ],
)  # fmt: skip
def test_quantity(value, text):
    assert quantity(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e21, r"$\mathregular{10^{21}}$"),
        (5.76e23, r"$\mathregular{5.76{\times}10^{23}}$"),
        (3e18, r"$\mathregular{3{\times}10^{18}}$"),
        (9.999e20, r"$\mathregular{10^{21}}$"),
        (20e20, r"$\mathregular{2{\times}10^{21}}$"),
    ],
)
def test_flops(value, text):
    assert flops(value) == text


@pytest.mark.parametrize(("ratio", "text"), [(10.2, "10×"), (2.53, "2.5×"), (187, "190×"), (3012, "3000×")])
def test_times(ratio, text):
    assert times(ratio) == text


def test_times_from_ten_thousand_on_is_a_power():
    assert times(1.04e6) == r"$\mathregular{10^{6}}$×"


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ((1.8049, 1.7801, 1.8312), "1.805 [1.780, 1.831]"),
        ((482.1, 283.4, 1210.7), "482 [283, 1211]"),
        ((17.6, 11.8, 25.6), "18 [12, 26]"),
        ((0.0121, 0.0104, 0.0136), "0.0121 [0.0104, 0.0136]"),
        ((-0.52, -0.61, -0.40), "-0.52 [-0.61, -0.40]"),
        ((-0.02, -1.6, 1.5), "0.0 [-1.6, 1.5]"),
        ((0.316, 0.316, 0.316), "0.316"),
        ((0.0, 0.0, 0.0), "0"),
        ((1.234e9, 1.1e9, 1.4e9), r"1.23 [1.10, 1.40]$\mathregular{{\times}10^{9}}$"),
        ((2.0e-5, 1.0e-5, 4.0e-5), r"2.0 [1.0, 4.0]$\mathregular{{\times}10^{-5}}$"),
    ],
)
def test_estimate_shows_two_digits_of_the_width(numbers, text):
    assert estimate(*numbers) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alpha", r"$\alpha$"), ("E", "$E$"), ("sigma_N", r"$\sigma_{\mathrm{N}}$"), ("N_exponent", "N exponent"),
        ("a[en]", "$a$[en]"), ("alpha[US$]", r"$\alpha$[US\$]"), ("log_sigma", "log sigma"),
    ],
)  # fmt: skip
def test_symbol(name, text):
    assert symbol(name) == text
