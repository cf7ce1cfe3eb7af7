"""Many rollouts at once: one compiled call, spread over all devices that JAX has."""

from __future__ import annotations

import os
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from visualpatchworld.program.program import Program
from visualpatchworld.program.rollout import rollout

# A contact law is many small operations whose results are each used several times. XLA repeats them for every use unless kernels may
# have several outputs, which halves the time of a rollout; loops that it calls small are compiled by a part that knows no such kernels.
_XLA_FLAGS = (
    "--xla_backend_extra_options=xla_cpu_use_multi_output_fusion,xla_cpu_small_while_loop_byte_threshold=0 --xla_cpu_prefer_vector_width=512"
)

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
    """Let JAX see so many devices on the CPU, and compile small loops well; it has to be said before JAX is first used."""
    jax.config.update("jax_num_cpu_devices", cores)
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAGS}".strip()
