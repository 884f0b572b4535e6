"""Training, validation and test sets, and the equal trees that must stay together."""
