"""Trees and equations as plain values. No torch."""
