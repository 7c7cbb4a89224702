"""What a clustered graph makes the cores do: which core runs what, and what they send each other. Imports `ir`."""
