"""Writers of the documents that are made by code."""
