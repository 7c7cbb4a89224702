"""What a user hands over as a graph, checked and converted."""
