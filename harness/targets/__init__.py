"""Where firmware runs: real boards and simulated ones, behind one contract."""
