"""Tables of runs that come with the package; all are made by its own code, and each has a provenance text."""

from bayescale.datasets._bundled import frame, load, names, path, provenance

__all__ = ["frame", "load", "names", "path", "provenance"]
