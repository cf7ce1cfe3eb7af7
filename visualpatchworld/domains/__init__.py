"""The bundled domains: one folder each, with the same file names in each."""
