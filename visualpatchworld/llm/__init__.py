"""Asking a language model: any OpenAI-compatible endpoint, within
a budget, recorded so that a run can be repeated offline.
"""
