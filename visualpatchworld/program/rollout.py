"""Rolling programs forward, one or many at once, compiled by JAX and spread over its devices."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Float

from visualpatchworld.program.program import Dynamics, Program


def rollout(dynamics: Dynamics, state: Float[Array, " S"], actions: Float[Array, "H A"]) -> Float[Array, "H S"]:
    """The observed state after each action."""
    seen = jnp.zeros((len(actions), len(state)), state.dtype)
    return teacher_forced_rollout(dynamics, state, actions, seen, jnp.zeros(len(actions), bool))


def teacher_forced_rollout(
    dynamics: Dynamics,
    state: Float[Array, " S"],
    actions: Float[Array, "H A"],
    seen: Float[Array, "H S"],
    resync: Bool[Array, " H"],
) -> Float[Array, "H S"]:
    """The state predicted after each action; where `resync` is set, the
    rollout goes on from the state seen then, not the predicted one.

    Looking every h steps turns one long rollout into many of horizon h. A state tuple may have fields that nobody
    observes (a speed, say): they begin at rest and are never looked up, so they settle to what the program makes of the
    states seen.
    """
    num_seen, dtype = len(state), state.dtype

    def cast(fields: Any) -> Any:
        return dynamics.State(*(jnp.asarray(field, dtype) for field in fields))

    def advance(state: Any, inputs: Any) -> tuple[Any, Float[Array, " S"]]:
        action, seen, resync = inputs
        after = cast(dynamics.step(state, action))
        predicted = jnp.stack(after[:num_seen])
        return cast((*jnp.where(resync, seen, predicted), *after[num_seen:])), predicted

    return jax.lax.scan(advance, cast(dynamics.State(*state)), (actions, seen, resync))[1]


# A contact law is many small operations whose results are each used several times. XLA repeats them for every use
# unless kernels may have several outputs, which halves the time of a rollout. A loop that counts as small becomes one
# function instead of a call for each kernel of each turn; with so many candidates at a time, what it computes on the
# way stays in the nearest cache.
_XLA_FLAGS = (
    "--xla_backend_extra_options=xla_cpu_use_multi_output_fusion,xla_cpu_small_while_loop_byte_threshold=1000000000"
    " --xla_cpu_prefer_vector_width=512"
)
CANDIDATES_AT_A_TIME = 64
# Whether XLA was told so before its first use: otherwise each block would cost all the calls of its kernels.
_in_blocks = False

BatchRollout = Callable[[Float[Array, " S"], Float[Array, "K H A"]], Float[Array, "K H S"]]
BatchCosts = Callable[..., Float[Array, " K"]]


def compile_rollouts(program: Program) -> BatchRollout:
    """A function from one state and K action sequences to the states after each action, in single precision.

    A program is code: compiled, it runs in this process with all your rights. `program.sandbox.sandboxed_rollouts`
    gives the same from a locked process.

    On a CPU, JAX runs such code mostly on one core; `spread_over_cores` before the first use of JAX gives it a device
    per core.

    Example: `states = vpw.compile_rollouts(program)(state, actions)` with a state (S) and actions (K H A) gives states
    (K H S).
    """
    dynamics = program.bind("jax")
    run = jax.jit(_over_devices(jax.vmap(lambda actions, state: rollout(dynamics, state, actions), in_axes=(0, None))))
    return lambda state, actions: run(jnp.asarray(actions, jnp.float32), jnp.asarray(state, jnp.float32))


def batch_costs(program: Program, cost: Callable[..., Any]) -> BatchCosts:
    """A function from K action sequences, one state and whatever the
    cost takes besides the states after each action to K costs.
    """
    dynamics = program.bind("jax")

    def batch(actions: Float[Array, "K H A"], state: Float[Array, " S"], *further: Any) -> Float[Array, " K"]:
        return jax.vmap(lambda sequence: cost(rollout(dynamics, state, sequence), *further))(actions)

    return _over_devices(batch)


def _over_devices(batch: Callable[..., Array]) -> Callable[..., Array]:
    """The batch split along its first argument, over all devices and
    there into blocks; the other arguments are the same for all.
    """
    devices = jax.devices()
    mesh = Mesh(devices, ("candidates",))
    split, whole = PartitionSpec("candidates"), PartitionSpec()

    def run(candidates: Array, *shared: Any) -> Array:
        each = -(-len(candidates) // len(devices))
        blocks = max(1, round(each / CANDIDATES_AT_A_TIME)) if _in_blocks and jax.default_backend() == "cpu" else 1
        surplus = blocks * -(-each // blocks) * len(devices) - len(candidates)
        padded = candidates[jnp.arange(len(candidates) + surplus) % len(candidates)] if surplus else candidates

        def on_device(mine: Array, *shared: Any) -> Array:
            if blocks == 1:
                return batch(mine, *shared)
            done = jax.lax.map(lambda block: batch(block, *shared), mine.reshape(blocks, -1, *mine.shape[1:]))
            return done.reshape(-1, *done.shape[2:])

        specs = (split, *[whole] * len(shared))
        spread = jax.shard_map(on_device, mesh=mesh, in_specs=specs, out_specs=split, check_vma=False)
        return spread(padded, *shared)[: len(candidates)]

    return run


def spread_over_cores(cores: int) -> None:
    """Let JAX see so many devices on the CPU, and compile small loops
    well; said after its first use, JAX goes on with what it has.
    """
    global _in_blocks
    with suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", cores)
        _in_blocks = True
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_XLA_FLAGS}".strip()
