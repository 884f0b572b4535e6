"""Models by name or file: what comes with the package, and the published weights."""
