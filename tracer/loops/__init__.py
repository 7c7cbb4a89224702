"""What the text of a program says of its loops. Imports `ir`."""
