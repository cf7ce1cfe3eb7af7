"""Many rollouts at once: one compiled call, spread over all devices that JAX has."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout

BatchRollout = Callable[[Float[Array, " S"], Float[Array, "K H A"]], Float[Array, "K H S"]]


def compile_rollouts(program: Program) -> BatchRollout:
    """A function from one state and K action sequences to the states after each action, in single precision.

    On a CPU, JAX runs such code mostly on one core; `spread_over_cores` before the first use of JAX gives it a device per core.
    """
    dynamics = program.bind("jax")
    devices = jax.devices()
    mesh = Mesh(devices, ("candidates",))
    split, whole = PartitionSpec("candidates"), PartitionSpec()
    batch = jax.vmap(lambda state, actions: rollout(dynamics, state, actions), in_axes=(None, 0))
    spread = jax.jit(jax.shard_map(batch, mesh=mesh, in_specs=(whole, split), out_specs=split, check_vma=False))

    def run(state: Float[Array, " S"], actions: Float[Array, "K H A"]) -> Float[Array, "K H S"]:
        surplus = -len(actions) % len(devices)
        padded = jnp.concatenate([actions, actions[:surplus]]) if surplus else actions
        on_devices = jax.device_put(jnp.asarray(padded, jnp.float32), NamedSharding(mesh, split))
        return spread(jnp.asarray(state, jnp.float32), on_devices)[: len(actions)]

    return run


def spread_over_cores(cores: int) -> None:
    """Let JAX see so many devices on the CPU; it has to be said before JAX is first used."""
    jax.config.update("jax_num_cpu_devices", cores)
