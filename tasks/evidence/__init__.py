"""Programs that only give evidence: sets next to peers, verdicts next to other values, solvers next to each other."""
