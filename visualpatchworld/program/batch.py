"""Many rollouts at once: one compiled call, spread over all devices that JAX has."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float

from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout

# A contact law is many small operations whose results are each used several times. XLA repeats them for every use unless kernels may
# have several outputs, which halves the time of a rollout; loops that it calls small are compiled by a part that knows no such kernels.
_XLA_FLAGS = (
    "--xla_backend_extra_options=xla_cpu_use_multi_output_fusion,xla_cpu_small_while_loop_byte_threshold=0"
    " --xla_cpu_prefer_vector_width=512"
)

BatchRollout = Callable[[Float[Array, " S"], Float[Array, "K H A"]], Float[Array, "K H S"]]
BatchCosts = Callable[[Float[Array, " S"], Float[Array, " S"], Float[Array, "K H A"]], Float[Array, " K"]]


def compile_rollouts(program: Program) -> BatchRollout:
    """A function from one state and K action sequences to the states after each action, in single precision.

    On a CPU, JAX runs such code mostly on one core; `spread_over_cores` before the first use of JAX gives it a device per core.

    Example: `states = vpw.compile_rollouts(program)(state, actions)` with a state (S) and actions (K H A) gives states (K H S).
    """
    dynamics = program.bind("jax")
    run = jax.jit(_over_devices(jax.vmap(lambda state, actions: rollout(dynamics, state, actions), in_axes=(None, 0)), num_shared=1))
    return lambda state, actions: run(jnp.asarray(state, jnp.float32), jnp.asarray(actions, jnp.float32))


def batch_costs(program: Program, cost: Callable[[Any, Any], Any]) -> BatchCosts:
    """A function from one state, a goal and K action sequences to what their futures cost, for JAX to trace into a larger one."""
    dynamics = program.bind("jax")
    batch = jax.vmap(lambda state, goal, actions: cost(rollout(dynamics, state, actions), goal), in_axes=(None, None, 0))
    return _over_devices(batch, num_shared=2)


def _over_devices(batch: Callable[..., Array], num_shared: int) -> Callable[..., Array]:
    """The batch split over all devices along its last argument; the arguments before that are the same for all."""
    devices = jax.devices()
    mesh = Mesh(devices, ("candidates",))
    split, whole = PartitionSpec("candidates"), PartitionSpec()
    spread = jax.shard_map(batch, mesh=mesh, in_specs=(*[whole] * num_shared, split), out_specs=split, check_vma=False)

    def run(*arguments: Array) -> Array:
        *shared, candidates = arguments
        surplus = -len(candidates) % len(devices)
        padded = candidates[jnp.arange(len(candidates) + surplus) % len(candidates)] if surplus else candidates
        return spread(*shared, padded)[: len(candidates)]

    return run


def spread_over_cores(cores: int) -> None:
    """Let JAX see so many devices on the CPU, and compile small loops well; said after its first use, JAX goes on with what it has."""
    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", cores)
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAGS}".strip()
