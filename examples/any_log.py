"""A program of a log alone: a CSV of a cart on a spring, with nobody left who could step the machine."""

import csv

import numpy as np

import visualpatchworld as vpw

rng = np.random.default_rng(0)
place, speed = 0.3, 0.0
with open("cart.csv", "w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["time", "place", "speed", "action"])
    for t in range(600):
        push = float(np.sign(np.sin(0.05 * t * (1 + t / 300)))) * rng.uniform(0.5, 1.0)
        rows.writerow([f"{0.02 * t:.2f}", place, speed, push])
        speed += 0.02 * (-9.0 * place - 0.4 * speed + 3.0 * push)
        place += 0.02 * speed

found = vpw.induce("cart.csv")
print(found)
print(found.program)
