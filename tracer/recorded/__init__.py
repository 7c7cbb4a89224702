"""Programs whose objects carry their own source: what the compiler wrappers leave in them, and how it is read again."""
