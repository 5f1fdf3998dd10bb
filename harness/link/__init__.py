"""The serial link: frames, messages, and a client that repeats what the line loses."""
