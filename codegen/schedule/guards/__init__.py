"""What a schedule assumes, and whether it still holds. Imports `plan`."""
