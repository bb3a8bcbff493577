"""What `packaging/build` and `packaging/test` are made of; Python's standard library only."""
