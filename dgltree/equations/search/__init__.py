"""Search for what may fill a blank: enumeration as arrays, the path walked back, fitted sums."""
