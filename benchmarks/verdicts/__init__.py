"""A check of the judge: equations of the generator, mutated, or drawn by shape, and values by mpmath."""
