"""Manifests, which are not trusted, and names of files, which are private."""
