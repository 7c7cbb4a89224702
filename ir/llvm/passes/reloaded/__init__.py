"""Passes that let a loop load numbers again from where they lie, instead of handing them on or leaving them behind."""
