"""A check of what is said of the solutions of equations: equations drawn by family, and roots by a grid and bisection."""
