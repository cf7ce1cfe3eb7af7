"""Losses and fields of force along an axis or in the plane."""

from zoo.blueprint import Axis, Blueprint, Mover


def viscous(world: Blueprint, axis: Axis) -> None:
    drag = world.constant("drag", world.chance.log(0.1, 1.0) * world.pace)
    world.push(axis, f"-{drag} * {moving(axis)}")


def quadratic(world: Blueprint, axis: Axis) -> None:
    drag = world.constant("drag", world.chance.log(0.2, 2.0) * axis.strength / _typical(world, axis) ** 2)
    world.push(axis, f"-{drag} * abs({moving(axis)}) * {moving(axis)}")


def dry(world: Blueprint, axis: Axis) -> None:
    """A constant brake that holds still what is slow enough."""
    grip = world.constant("grip", world.chance.log(0.05, 0.3) * axis.strength)
    speed = moving(axis)
    world.event(
        "loss:dry",
        f"abs({speed}) <= {grip} * DT",
        f"{speed} = 0.0",
        otherwise=(f"{speed} = {speed} - {grip} * DT * np.sign({speed})",),
        wanted=False,
    )


def moving(axis: Axis) -> str:
    """The field that a loss slows down."""
    return axis.speed or axis.place


def _typical(world: Blueprint, axis: Axis) -> float:
    return axis.size * world.pace if axis.speed else axis.size


def constant(world: Blueprint, axis: Axis) -> None:
    wind = world.constant("wind", world.chance.sign() * world.chance.log(0.1, 0.5) * axis.strength)
    world.push(axis, wind)


def spring(world: Blueprint, axis: Axis) -> None:
    stiff, rest = _stiffness(world, axis)
    world.push(axis, f"-{stiff} * ({axis.place} - {rest})")


def cubic(world: Blueprint, axis: Axis) -> None:
    hard = world.constant("hard", world.chance.log(0.3, 2.0) * axis.strength / axis.size**3)
    world.push(axis, f"-{hard} * {axis.place} ** 3")


def sine(world: Blueprint, axis: Axis) -> None:
    """Hills and valleys along the way."""
    wave = 1.0 if axis.angle else world.chance.log(1.0, 4.0) / axis.size
    wave, steep = world.constant("wave", wave), world.constant("steep", world.chance.log(0.3, 1.2) * axis.strength)
    world.push(axis, f"{steep} * np.sin({wave} * {axis.place})")


def regional(world: Blueprint, axis: Axis) -> None:
    """Wind in one region only."""
    start = world.constant("from_here", world.chance.even(-0.3, 0.2) * axis.size)
    wind = world.constant("wind", world.chance.sign() * world.chance.log(0.3, 1.0) * axis.strength)
    world.push(axis, f"({wind} if {axis.place} > {start} else 0.0)")


def periodic(world: Blueprint, axis: Axis) -> None:
    """A push that comes and goes with time."""
    clock = world.add_field("clock", 0.0, 0.0, shown=world.chance.happens(0.6))
    world.rates[clock] = "1.0"
    swing = world.constant("swing", world.chance.log(0.3, 1.0) * axis.strength)
    beat = world.constant("beat", world.chance.log(0.5, 3.0) * world.pace)
    world.push(axis, f"{swing} * np.sin({beat} * {clock})")
    if not world.fields[clock].shown:
        world.tag("hidden:clock")


def inverse_square(world: Blueprint, mover: Mover) -> None:
    """A pull towards a point of the plane, softened near it."""
    x, y = mover.plane
    pull = world.constant("pull", world.chance.log(0.1, 0.5) * x.strength * mover.size**2)
    soft = world.constant("soft", world.chance.log(0.2, 0.5) * mover.size)
    centre = [world.constant(f"centre_{name}", world.chance.even(-0.5, 0.5) * mover.size) for name in ("x", "y")]
    apart = [f"({axis.place} - {middle})" for axis, middle in zip((x, y), centre, strict=False)]
    for axis, gap in zip((x, y), apart, strict=False):
        world.push(axis, f"-{pull} * {gap} / ({apart[0]} ** 2 + {apart[1]} ** 2 + {soft} ** 2) ** 1.5")


def mud(world: Blueprint, mover: Mover) -> None:
    """A disc-shaped region in which everything is slowed."""
    x, y = mover.plane
    radius = world.constant("mud_radius", world.chance.even(0.4, 0.8) * mover.size)
    thick = world.constant("thick", world.chance.log(0.5, 2.0) * world.pace)
    for axis in (x, y):
        world.push(axis, f"(-{thick} * {moving(axis)} if np.hypot({x.place}, {y.place}) < {radius} else 0.0)")


def _stiffness(world: Blueprint, axis: Axis) -> tuple[str, str]:
    stiff = world.constant("stiffness", world.chance.log(0.2, 2.0) * axis.strength / axis.size)
    rest = world.constant("rest", world.chance.even(-0.3, 0.3) * axis.size) if world.chance.happens(0.5) else "0.0"
    return stiff, rest


LOSSES = {"viscous": viscous, "quadratic": quadratic, "dry": dry}
FIELDS = {
    "constant": constant,
    "spring": spring,
    "cubic": cubic,
    "sine": sine,
    "regional": regional,
    "periodic": periodic,
}
PLANE_FIELDS = {"inverse_square": inverse_square, "mud": mud}
