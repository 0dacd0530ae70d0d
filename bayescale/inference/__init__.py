"""What NUTS stands on: the density, the mode, the whitening, the compiled sampler, and checks of its draws."""
