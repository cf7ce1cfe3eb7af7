"""A program of any environment: hand it over, read what was found, and plan for its reward."""

import gymnasium as gym

import visualpatchworld as vpw

env = gym.make("Pendulum-v1")
found = vpw.induce(env, seed=0)  # at most 2,000 steps of it, and nothing else is told
print(found)
print(found.program)

earned = vpw.evaluate_return(env, found.program, episodes=3, seed=0).report
print(f"planned return {earned['return_mean']:.0f}, random actions {earned['random_return']:.0f}")
