"""Trees and equations: plain values, without torch."""
