"""The figures this project promises, measured on this machine: `make measure`."""
