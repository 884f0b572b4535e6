"""A check of the judge: equations of the generator, mutated, and values of 60 digits by mpmath at points of its own."""
