"""Proofs that an expression is 0 in a region, by rational functions of generators: the older prover."""
