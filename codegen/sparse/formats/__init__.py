"""Storage formats of sparse matrices as papers define them: exact both ways, with their bytes and padding."""
