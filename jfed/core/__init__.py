"""The vocabulary that every room speaks: messages, interfaces, options, keys, operations, errors."""
