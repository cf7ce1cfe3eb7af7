"""The tool path of stage 1: colours are segmented, shapes are fitted, and pixels
become metres or pixels of the world.
"""
