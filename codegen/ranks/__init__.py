"""A sparse matrix shared out to several ranks, and products that exchange what a rank lacks."""
