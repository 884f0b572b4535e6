"""So that the helpers beside it are found from the folders below, which have no names as packages."""
