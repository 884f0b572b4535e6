"""Labelled equations: true ones grown from identities, wrong ones varied from them, as data sets to presets."""
