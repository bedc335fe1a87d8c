"""Code that the Eiffel commands share."""
