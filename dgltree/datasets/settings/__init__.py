"""How a file is read: the options, and what the fields of a record may say."""
