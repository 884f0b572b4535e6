"""SymPy in a process of its own: other forms of an expression, and the solutions of an equation."""
