"""Which of several forms of one value a textbook writes: groups of forms, and a small model that learns from them."""
