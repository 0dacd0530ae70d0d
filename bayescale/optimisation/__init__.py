"""Fitting by optimisation: robust regression and variable projection of a law, from many starts and on many resamples.

Everything that is searched is a queue of tasks for one compiled loop of damped Newton steps (`newton`), whether the
tasks are the 4,500 starts of Hoffmann et al. on one table or one start on thousands of bootstrap resamples. A law has
few parameters, so that a step with the exact Hessian costs a few gradients, and it takes fewer steps than L-BFGS to an
optimum that is one: the gradient is zero to rounding there.
"""
