"""What may move in a scope, and how: index spaces, access modes, private data."""
