"""What `packaging/test` looks at; one module for each package."""
