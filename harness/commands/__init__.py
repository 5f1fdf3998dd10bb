"""What each `kilobench` command does; one module a command, heavy libraries imported inside it."""
