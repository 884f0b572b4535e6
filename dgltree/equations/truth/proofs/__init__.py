"""Proofs of where an equation in one real variable holds: a finder makes certificates, a small checker accepts them."""
