"""The grammar: typed expressions, and the one emitter that writes them as a program."""
