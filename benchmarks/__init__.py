"""How fast bayescale is, side by side with PyMC + nutpie and NumPyro, and how its cost grows.

``python -m benchmarks`` runs everything; see README.md here.
"""
