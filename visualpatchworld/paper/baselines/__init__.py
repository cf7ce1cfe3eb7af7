"""Rivals: six published ways of letting a language model write a world's program,
on the same data and under the same judge.
"""
