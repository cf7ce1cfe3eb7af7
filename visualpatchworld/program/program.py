"""A program: its text is the thing itself; it can be read, edited,
checked, bound to other constants, and run under numpy or JAX.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy
from jaxtyping import Bool, Float

from visualpatchworld.errors import VpwError, printable
from visualpatchworld.files import read_text
from visualpatchworld.scene.state import StateSpace

if TYPE_CHECKING:  # which this module would else import in a circle
    from visualpatchworld.program.equations import Equations

Backend = Literal["numpy", "jax"]
_ARRAY_IMPORTS = ("numpy", "jax.numpy")
LARGEST_NUMBER = 10**300  # what a float still holds
MOST_BYTES = 2**20  # of a program that someone could read
LONGEST_STEP_S = 5  # of one step when a program is checked
NO_TRACE = (
    "a value of the state decides here what is done next, but planning runs the program on many states at once; "
    "write `np.where`, or an `if` whose two ways assign plain names, in place of `while`, `break` and changes of lists"
)
_IMPORTS = (*_ARRAY_IMPORTS, "math", "typing", "__future__")


class BadProgram(VpwError):
    """A program that cannot be read or breaks the contract; the message names file and line."""


class Dynamics(NamedTuple):
    """A program made runnable: its state tuple and its step."""

    State: type[Any]
    step: Callable[[Any, Any], Any]


class WorldModel(NamedTuple):
    """All that a program may define, made runnable; what it does not define is None.

    `observe` and `read` are there where the world's observation is not its state: `observe(state)` gives the
    observation as a tuple, `read(observation)` a state that gives it (what no observation shows is at rest).
    """

    State: type[Any]
    step: Callable[[Any, Any], Any]
    observe: Callable[[Any], Any] | None
    read: Callable[[Any], Any] | None
    reward: Callable[[Any, Any, Any], Any] | None  # (state, action, next_state)
    terminated: Callable[[Any], Any] | None  # of the state after a step
    valid: Callable[[Any], Any] | None  # of a state: whether the laws were seen to hold there


@dataclass(frozen=True)
class Program:
    """Python text that defines constants, a `State` named tuple and `step(state, action) -> State`.

    Example: `print(program)`, `program.edited({"DRAG": 0.2})`, `State, step = program.bind("numpy")`
    """

    text: str
    path: Path | None = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        place = "" if self.path is None else f" in {self.path}"
        return f"<Program {self.hash}{place}: {len(self.text.splitlines())} lines; print it to read it>"

    @cached_property
    def module(self) -> ast.Module:
        try:
            module = ast.parse(self.text)
        except SyntaxError as error:
            raise BadProgram(f"{self.where(error.lineno)}: not Python: {error.msg}.") from None
        except (ValueError, RecursionError, MemoryError) as error:  # a zero byte, or brackets in brackets without end
            raise BadProgram(f"{self.where()}: not Python: {str(error) or 'it is nested too deeply'}.") from None
        for node in ast.walk(module):
            if isinstance(node, ast.Constant) and isinstance(node.value, int) and abs(node.value) > LARGEST_NUMBER:
                raise BadProgram(f"{self.where(node.lineno)}: a whole number here is larger than any measured one.")
        return module

    def _parsed(self) -> ast.Module:
        """The module once more, to be rewritten: parsing is much faster than a copy."""
        assert self.module  # which refuses a text that is no program
        return ast.parse(self.text)

    @cached_property
    def constants(self) -> dict[str, Any]:
        """Every module-level constant and its value."""
        return {
            node.targets[0].id: math.nan if isinstance(node.value, ast.Name) else ast.literal_eval(node.value)
            for node in self.module.body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_literal(node.value)
        }

    @property
    def hash(self) -> str:
        """A short fingerprint of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]

    def where(self, line: int | None = None) -> str:
        """File and line, as an editor understands them."""
        return f"{self.path or 'program'}:{line or 1}"

    def edited(self, constants: Mapping[str, Any]) -> Program:
        """The program with some constants changed, as a person would change them in the text."""
        lines = self.text.splitlines(keepends=True)
        for name, value in constants.items():
            if name not in self.constants:
                raise BadProgram(
                    f"{self.where()}: there is no constant '{name}'; there are {', '.join(self.constants)}."
                )
            assigned = re.compile(rf"^{name} = [^#\n]*?(?=\s*(#|$))")
            lines = [assigned.sub(lambda _, new=f"{name} = {value!r}": new, line) for line in lines]
        return Program("".join(lines))

    def bind(self, backend: Backend, constants: Mapping[str, Any] | None = None) -> Dynamics:
        """The program's `State` and `step`, with the text's constants
        or, where given, these instead (numbers or traced values).
        """
        namespace = self._run(backend, constants)
        return Dynamics(namespace["State"], namespace["step"])

    def bind_world(self, backend: Backend, constants: Mapping[str, Any] | None = None) -> WorldModel:
        """Everything that the program defines of its world, bound as `bind` does."""
        namespace = self._run(backend, constants)
        return WorldModel(
            namespace["State"], namespace["step"], *(namespace.get(name) for name in WorldModel._fields[2:])
        )

    def _run(self, backend: Backend, constants: Mapping[str, Any] | None) -> dict[str, Any]:
        # What a program prints must not get into what is printed of it.
        namespace: dict[str, Any] = {"__name__": "world_model", "print": partial(print, file=sys.stderr)}
        try:
            if backend == "numpy":
                exec(self._numpy_code, namespace)
            else:
                from visualpatchworld.program.tracing import NAMES  # here: NumPy does without JAX

                namespace |= NAMES
                exec(self._jax_code, namespace)
        except Exception as error:
            raise self.refusal(error) from None
        missing = next((name for name in ("State", "step") if name not in namespace), None)
        if missing is not None:
            raise BadProgram(f"{self.where()}: the program defines no '{missing}'.")
        namespace.update(constants or {})
        return namespace

    def refusal(self, error: BaseException, line: int | None = None) -> BadProgram:
        """What went wrong inside the program, as a sentence that names the line."""
        if isinstance(error, BadProgram):
            return error
        said = NO_TRACE if _is_untraceable(error) else _said(error)
        return BadProgram(f"{self.where(_line(error) or line)}: {said}.")

    @cached_property
    def _numpy_code(self) -> CodeType:
        return self._code(_ArrayModule("numpy").visit(self._parsed()))

    @cached_property
    def _jax_code(self) -> CodeType:
        from visualpatchworld.program.tracing import traceable

        return self._code(traceable(_ArrayModule("jax.numpy").visit(self._parsed())))

    def _code(self, module: ast.Module) -> CodeType:
        return compile(ast.fix_missing_locations(module), str(self.path or "program"), "exec")

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The names of a state's numbers, in their order; read from the text, of which nothing is run."""
        classes = [node for node in self.module.body if isinstance(node, ast.ClassDef) and node.name == "State"]
        named = [node.target for part in classes for node in part.body if isinstance(node, ast.AnnAssign)]
        found = tuple(target.id for target in named if isinstance(target, ast.Name))
        if not found:
            raise BadProgram(f"{self.where()}: the program defines no class 'State' with fields.")
        return found

    # What the program computes, on arrays whose leading axes are batches: rows one after the other under NumPy, in
    # double precision; compiled and all at once where an argument is an array of JAX, as inside `jax.vmap`.

    def step(self, state: Float[Any, "*N S"], action: Float[Any, "*N A"]) -> Float[Any, "*N S"]:
        """The state after an action.

        Example: `after = program.step(state, [0.5])`, `jax.vmap(program.step)(states, actions)`
        """
        return self._call("step", state, action)

    def rollout(self, state: Float[Any, "*N S"], actions: Float[Any, "*N H A"]) -> Float[Any, "*N H S"]:
        """The state after each action."""
        return self._call("rollout", state, actions)

    def simulate(self, observation: Float[Any, "*N O"], actions: Float[Any, "*N H A"]) -> Float[Any, "*N H O"]:
        """What is observed after each action, from what is observed now; fields that no observation shows begin at
        rest.
        """
        return self._call("simulate", observation, actions)

    def read(self, observation: Float[Any, "*N O"]) -> Float[Any, "*N S"]:
        """A state that gives this observation; fields that it does not show are at rest."""
        return self._call("read", observation)

    def observe(self, state: Float[Any, "*N S"]) -> Float[Any, "*N O"]:
        """What is observed of a state."""
        return self._call("observe", state)

    def reward(
        self, state: Float[Any, "*N S"], action: Float[Any, "*N A"], next_state: Float[Any, "*N S"]
    ) -> Float[Any, "*N"]:
        """What a step is worth; zero where the program has no reward."""
        return self._call("reward", state, action, next_state)

    def terminated(self, state: Float[Any, "*N S"]) -> Bool[Any, "*N"]:
        """Whether the world ends in the state after a step; never where the program has no end."""
        return self._call("terminated", state)

    def valid(self, state: Float[Any, "*N S"]) -> Bool[Any, "*N"]:
        """Whether the laws were seen to hold in a state; everywhere where the program does not say."""
        return self._call("valid", state)

    def _call(self, name: str, *arguments: Any) -> Any:
        from visualpatchworld.program.calls import call

        return call(self, name, *arguments)

    def equations(self) -> Equations:
        """The program as equations, read from its syntax tree: nothing of it is run.

        Example: `print(program.equations())`, `program.equations().latex`
        """
        from visualpatchworld.program.equations import equations_of

        return equations_of(self)

    def check(self, state_space: StateSpace, action_dim: int) -> Program:
        """This program, if it keeps the contract; otherwise `BadProgram` says what is wrong and where."""
        _check_imports(self)
        line_of = {
            node.name: node.lineno for node in self.module.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        }
        for name in ("State", "step"):
            if name not in line_of:
                raise BadProgram(f"{self.where()}: the program defines no '{name}'.")
        for name, value in self.constants.items():
            if isinstance(value, float) and value != value:
                raise BadProgram(f"{self.where()}: the constant '{name}' is not a number.")
        try:
            with _limited():
                dynamics = self.bind("numpy")
            fields = getattr(dynamics.State, "_fields", ())
            if tuple(fields[: len(state_space)]) != state_space.names:
                wanted = ", ".join(state_space.names)
                raise BadProgram(f"{self.where(line_of['State'])}: State must begin with the fields {wanted}.")
            with numpy.errstate(all="ignore"), _limited():
                state = dynamics.State(*numpy.full(len(state_space), 0.5))
                after = dynamics.step(state, numpy.zeros(action_dim))
        except (Exception, SystemExit, _TooSlow) as error:
            raise self.refusal(error, line_of["step"]) from None
        if not isinstance(after, dynamics.State):
            raise BadProgram(f"{self.where(line_of['step'])}: step must return a State, not {type(after).__name__}.")
        for field, value in zip(dynamics.State._fields, after, strict=True):
            if numpy.shape(value) != ():
                raise BadProgram(
                    f"{self.where(line_of['step'])}: step returns '{field}' with the shape "
                    f"{numpy.shape(value)}, not a number."
                )
        return self

    def check_tracing(self, state_space: StateSpace, action_dim: int) -> Program:
        """This program, if JAX can compile it for many states at
        once; otherwise `BadProgram` says which line is in the way.
        """
        import jax
        import jax.numpy as jnp

        try:
            with _limited():
                dynamics = self.bind("jax")

            def step(state: Any, action: Any) -> list[Any]:
                return [jnp.asarray(field, jnp.float32) for field in dynamics.step(dynamics.State(*state), action)]

            shapes = [jax.ShapeDtypeStruct((size,), jnp.float32) for size in (len(state_space), action_dim)]
            with _limited():
                fields = jax.eval_shape(step, *shapes)
        except (Exception, SystemExit, _TooSlow) as error:
            raise self.refusal(error) from None
        odd = next((shape.shape for shape in fields if shape.shape), None)
        if odd is not None:
            raise BadProgram(
                f"{self.where()}: step returns a field with the shape {odd}, not a number, when JAX compiles it."
            )
        return self


def load_program(path: Path, state_space: StateSpace, action_dim: int) -> Program:
    """The program in a file, checked, which runs it in this process with all your rights: only for programs
    that are trusted; `program.sandbox.Sandbox` checks any other.
    """
    return read_program(path).check(state_space, action_dim).check_tracing(state_space, action_dim)


def read_program(path: Path, called: Path | None = None) -> Program:
    """The program in a file, which messages may call otherwise; nothing of it is run."""
    return Program(read_text(Path(path), "program", BadProgram, most=MOST_BYTES), called or Path(path))


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return isinstance(node, ast.Name) and node.id == "nan"
    return True


def _check_imports(program: Program) -> None:
    for node in ast.walk(program.module):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        for name in names:
            if name not in _IMPORTS:
                raise BadProgram(
                    f"{program.where(node.lineno)}: a program may import {', '.join(_IMPORTS[:-1])}, not '{name}'."
                )


class _TooSlow(BaseException):
    """A program that does not end; not an `Exception`, which the program itself could take for its own."""


@contextmanager
def _limited() -> Iterator[None]:
    """Give up on what calculates without end; counted is the time
    of the processor, which a busy machine does not stretch.
    """

    def stop(*_: object) -> NoReturn:
        raise _TooSlow(f"one step takes longer than {LONGEST_STEP_S} s")

    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        yield
        return
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_STEP_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _is_untraceable(error: BaseException) -> bool:
    """Whether JAX met a value that decides what is done next; where JAX is not loaded, it did not."""
    jax = sys.modules.get("jax")
    kinds = () if jax is None else (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)
    return isinstance(error, kinds)


def _said(error: BaseException) -> str:
    """A failure in one line; JAX goes on for pages."""
    if isinstance(error, _TooSlow):
        return str(error)
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {printable(lines[0].rstrip('.'))}" if lines else type(error).__name__


def _line(error: BaseException) -> int | None:
    """The innermost line of the program that an error came through."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") == "world_model":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


class _ArrayModule(ast.NodeTransformer):
    """Rewrites `import numpy as np` or `import jax.numpy as np` to the wanted one of the two."""

    def __init__(self, module: str):
        self.module = module

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            if alias.name in _ARRAY_IMPORTS:
                alias.name, alias.asname = self.module, alias.asname or alias.name.partition(".")[0]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        node.module = self.module if node.module in _ARRAY_IMPORTS else node.module
        return node
