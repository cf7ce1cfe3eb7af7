"""How actions reach what they drive: shapes of a signal, tables of choices, and stores that run empty."""

from zoo.blueprint import Axis, Blueprint, Mover


def connect(world: Blueprint, mover: Mover, shapes: list[str]) -> None:
    """Give every control of a mover an action, or all of them one table of choices; the first gets these shapes."""
    discrete = not world.action_low and not world.choices and world.chance.happens(0.25)
    sources = choice_table(world, mover.controls) if discrete else [_action(world, axis) for axis in mover.controls]
    for number, (axis, source) in enumerate(zip(mover.controls, sources, strict=False)):
        signal = source
        for shape in shapes if number == 0 else ():
            signal = SHAPES[shape](world, signal, axis)
            world.tag(f"drive:{shape}")
        _attach(world, mover, axis, signal)


def _action(world: Blueprint, axis: Axis) -> str:
    reach = world.chance.pick((1.0, 1.0, 1.0, 2.0, 0.5))
    return world.signal("asked", world.action(reach, 0.0 if axis.positive else None))


def choice_table(world: Blueprint, controls: list[Axis]) -> list[str]:
    """One action among a few; each stands for a value of every control."""
    world.choices = world.chance.whole(2, 5)
    world.tag("drive:choices")
    sources = []
    for axis in controls:
        low = 0.0 if axis.positive else -1.0
        values = [world.chance.even(low, 1.0) for _ in range(world.choices)]
        values[0], values[-1] = low, 1.0
        table = world.constant("choices", tuple(values))
        sources.append(world.signal("choice", f"{table}[int(action[0])]"))
    return sources


def _attach(world: Blueprint, mover: Mover, axis: Axis, signal: str) -> None:
    """Add the signal to the control, by a gain or by a gain times a field."""
    gain = world.constant("gain", world.chance.log(0.6, 2.0) * axis.strength)
    if axis.positive:
        world.push(axis, f"{gain} * {signal}")
    elif mover.kind in ("unicycle", "boat") and axis is mover.controls[1] and world.chance.happens(0.5):
        field = mover.controls[0].place or mover.controls[0].force
        typical = world.constant("typical", world.chance.log(0.4, 1.5) * mover.size * world.pace)
        world.push(axis, f"{gain} * {signal} * {field} / {typical}")
        world.tag("drive:product")
    elif world.level > 1 and axis.place and world.chance.happens(0.12):
        share = world.constant("share", world.chance.log(0.2, 0.9) / axis.size)
        world.push(axis, f"{gain} * {signal} * (1.0 + {share} * {axis.place})")
        world.tag("drive:product")
    else:
        world.push(axis, f"{gain} * {signal}")
        world.tag("drive:affine")


def saturated(world: Blueprint, signal: str, axis: Axis) -> str:
    steep = world.constant("steep", world.chance.log(1.3, 3.0))
    low = "0.0" if axis.positive else "-1.0"
    return world.signal("limited", f"min(max({steep} * {signal}, {low}), 1.0)")


def dead_zone(world: Blueprint, signal: str, axis: Axis) -> str:
    """Small signals do nothing; larger ones act less that zone, or in full."""
    zone = world.constant("dead_zone", world.chance.log(0.1, 0.4))
    beyond = f"{signal} - {zone} * np.sign({signal})" if world.chance.happens(0.5) else signal
    return world.signal("freed", f"0.0 if abs({signal}) < {zone} else {beyond}")


def lag(world: Blueprint, signal: str, axis: Axis) -> str:
    """The actuator follows the action at a finite speed."""
    follower = world.add_field("actuator", 0.0, 0.0, shown=world.chance.happens(0.5))
    quick = world.constant("quick", world.chance.log(0.8, 4.0) * world.pace)
    world.rates[follower] = f"{quick} * ({signal} - {follower})"
    if not world.fields[follower].shown:
        world.tag("hidden:actuator")
    return follower


def delay(world: Blueprint, signal: str, axis: Axis) -> str:
    """What is done now acts some steps later."""
    steps = world.chance.whole(1, 4)
    queue = [world.add_field("waiting", 0.0, 0.0, shown=False) for _ in range(steps)]
    late = world.signal("late", queue[0])
    for first, second in zip(queue, [*queue[1:], signal], strict=False):
        world.commands.append(f"{first} = {second}")
    return late


def signed_square(world: Blueprint, signal: str, axis: Axis) -> str:
    return world.signal("squared", f"{signal} * abs({signal})")


def fuel(world: Blueprint, signal: str, axis: Axis) -> str:
    """Driving uses up fuel, which is part of the mass; without fuel nothing drives."""
    tank = world.add_field("fuel", 0.3, 1.0)
    burned = world.signal("burned", f"{signal} if {tank} > 0.0 else 0.0")
    burn = world.constant("burn", world.chance.log(0.1, 0.4) * world.pace)
    world.rates[tank] = f"-{burn} * abs({burned})"
    world.event("event:empty", f"{tank} < 0.0", f"{tank} = 0.0")
    if axis.speed is not None and axis.force in world.rates.values():
        world.inertia[axis.force] = f"({world.constant('dry_mass', world.chance.log(0.4, 1.5))} + {tank})"
    return burned


def battery(world: Blueprint, signal: str, axis: Axis) -> str:
    """The drive gets weaker as its charge goes down, and the charge comes back slowly."""
    charge = world.add_field("charge", 0.6, 1.0)
    weak = world.signal("powered", f"{signal} * {charge}")
    use = world.constant("use", world.chance.log(0.2, 0.6) * world.pace)
    fill = world.constant("refill", world.chance.log(0.05, 0.2) * world.pace)
    world.rates[charge] = f"{fill} * (1.0 - {charge}) - {use} * {charge} * abs({signal})"
    return weak


def gated(world: Blueprint, signal: str, axis: Axis) -> str:
    """A timer counts steps and comes back to zero; the drive acts only in part of its round."""
    period = world.chance.whole(5, 15)
    turn, open_for = world.constant("round", period), world.constant("open_for", world.chance.whole(2, period - 1))
    timer = world.add_field("timer", 0.0, 0.0, shown=world.chance.happens(0.6), whole=True)
    gate = world.signal("gated", f"{signal} if {timer} < {open_for} else 0.0")
    world.commands.append(f"{timer} = 0.0 if {timer} + 1.0 >= {turn} else {timer} + 1.0")
    if not world.fields[timer].shown:
        world.tag("hidden:timer")
    return gate


def low_cutout(world: Blueprint, signal: str, axis: Axis) -> str:
    """The drive is off while a field is below a threshold."""
    field = axis.speed or axis.place or next(iter(world.fields))
    span = world.fields[field]
    threshold = world.constant("cutout", world.chance.even(span.low, 0.5 * (span.low + span.high)))
    return world.signal("kept", f"{signal} if {field} > {threshold} else 0.0")


SHAPES = {
    "saturated": saturated,
    "dead_zone": dead_zone,
    "lag": lag,
    "delay": delay,
    "signed_square": signed_square,
    "fuel": fuel,
    "battery": battery,
    "gated": gated,
    "low_cutout": low_cutout,
}
