"""From the event stream of a traced program to its dynamic dependence graph."""
