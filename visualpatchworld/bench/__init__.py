"""Measuring: tasks, cells of results, and the tables and figures made of them."""
