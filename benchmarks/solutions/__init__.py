"""A check of solutions: equations drawn by family, and their roots by a grid and bisection."""
