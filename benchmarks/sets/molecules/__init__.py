"""Three published sets of molecules: ``dgltree fit`` with its defaults next to what is usual for molecules."""
