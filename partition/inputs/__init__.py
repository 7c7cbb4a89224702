"""The graphs that users pass, validated and converted."""
