"""A whole process: read a table, fit it with bayescale, print the summary."""

import sys

import bayescale

if __name__ == "__main__":
    print(bayescale.fit(sys.argv[1], "chinchilla"))
