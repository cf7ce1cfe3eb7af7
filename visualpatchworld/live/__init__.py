"""A page to play with a program: its constants to turn, the true world beside the imagined one,
goals to drag and plans to watch.
"""
