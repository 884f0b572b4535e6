"""A file to flat trees and columns: read in several processes, gathered on disk, kept in a cache."""
