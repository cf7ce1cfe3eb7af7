"""Stocks and flows: tanks, heat, living things and reactions."""

import itertools

from zoo.blueprint import Axis, Blueprint, Mover


def tanks(world: Blueprint) -> Mover:
    """Tanks in a row; flow between two goes with the square root of their difference, out of the last with its own."""
    count = world.chance.whole(1, 3) if world.level > 1 else 1
    size = world.chance.log(0.5, 5.0)
    levels = [world.add_field("level", 0.2 * size, 0.8 * size) for _ in range(count)]
    pipe = size**0.5 * world.pace
    inflow = world.free_sum("inflow", size * world.pace, positive=True)
    flows = [f"({inflow.force})"]
    for a, b in itertools.pairwise(levels):
        width = world.constant("pipe", world.chance.log(0.4, 1.5) * pipe)
        flows.append(f"{width} * np.sign({a} - {b}) * np.sqrt(abs({a} - {b}))")
    drain = world.constant("drain", world.chance.log(0.2, 0.8) * pipe)
    flows.append(f"{drain} * np.sqrt(max({levels[-1]}, 0.0))")
    for i, level in enumerate(levels):
        world.rates[level] = f"{flows[i]} - {flows[i + 1]}"
        full = world.constant("full", world.chance.even(1.0, 1.4) * size)
        world.event("event:clip", f"{level} < 0.0", f"{level} = 0.0", wanted=False)
        world.event("event:clip", f"{level} > {full}", f"{level} = {full}", wanted=False)
    return _stock("tanks", [inflow], levels, size)


def leaky(world: Blueprint) -> Mover:
    """A stock that loses a share of itself."""
    size = world.chance.log(0.5, 5.0)
    level = world.add_field("level", 0.1 * size, size)
    axis = world.axis(level, None, size)
    leak = world.constant("leak", world.chance.log(0.2, 1.0) * world.pace)
    world.push(axis, f"-{leak} * {level}")
    return _stock("leaky", [axis], [level], size)


def thermal(world: Blueprint) -> Mover:
    """One or two bodies that are heated and lose heat to each other and to their surroundings."""
    count = world.chance.whole(1, 2) if world.level > 1 else 1
    around = world.constant("ambient", world.chance.even(5.0, 25.0))
    size = world.chance.log(5.0, 30.0)
    temps = [world.add_field("temp", world.constants[around], world.constants[around] + size) for _ in range(count)]
    axes = [world.axis(temp, None, size) for temp in temps]
    for axis in axes:
        loss = world.constant("loss", world.chance.log(0.1, 0.6) * world.pace)
        world.push(axis, f"{loss} * ({around} - {axis.place})")
    if count == 2:
        share = world.constant("exchange", world.chance.log(0.2, 1.0) * world.pace)
        world.push(axes[0], f"{share} * ({temps[1]} - {temps[0]})")
        world.push(axes[1], f"{share} * ({temps[0]} - {temps[1]})")
    return _stock("thermal", axes[:1], temps, size)


def bioreactor(world: Blueprint) -> Mover:
    """Food and what eats it, which grows the slower the less food there is; fresh food is fed in."""
    size = world.chance.log(1.0, 5.0)
    food = world.add_field("food", 0.3 * size, size)
    cells = world.add_field("cells", 0.2 * size, 0.8 * size)
    feed = world.free_sum("feed", 0.5 * world.pace, positive=True)
    fastest = world.constant("fastest", world.chance.log(0.5, 1.5) * world.pace)
    half = world.constant("half", world.chance.log(0.1, 0.6) * size)
    fresh = world.constant("fresh", world.chance.even(1.0, 2.0) * size)
    gained = world.constant("gained", world.chance.even(0.3, 0.9))
    dilution = world.unique("dilution")
    world.solves.append(f"{dilution} = max({feed.force}, 0.0)")
    growth = f"{fastest} * {food} / ({half} + {food}) * {cells}"
    world.rates[food] = f"{dilution} * ({fresh} - {food}) - {growth}"
    world.rates[cells] = f"{gained} * {growth} - {dilution} * {cells}"
    _not_below_zero(world, food, cells)
    return _stock("bioreactor", [feed], [food, cells], size)


def predator_prey(world: Blueprint) -> Mover:
    """Prey and predators; the action feeds or removes some of one of them."""
    prey = world.add_field("prey", 0.5, 2.0)
    predators = world.add_field("predators", 0.5, 1.5)
    births = world.constant("births", world.chance.log(0.4, 1.2) * world.pace)
    eaten = world.constant("eaten", world.chance.log(0.4, 1.2) * world.pace)
    deaths = world.constant("deaths", world.chance.log(0.3, 1.0) * world.pace)
    grown = world.constant("grown", world.chance.even(0.3, 1.0))
    harvest = world.free_sum("harvest", 0.4 * world.pace)
    which = world.chance.pick((prey, predators))
    world.rates[prey] = f"{births} * {prey} - {eaten} * {prey} * {predators}"
    world.rates[predators] = f"{grown} * {eaten} * {prey} * {predators} - {deaths} * {predators}"
    world.rates[which] += f" + {harvest.force} * {which}"
    if world.chance.happens(0.5):
        crowd = world.constant("crowding", world.chance.log(0.05, 0.3) * world.pace)
        world.rates[prey] += f" - {crowd} * {prey} ** 2"
    _not_below_zero(world, prey, predators)
    return _stock("predator_prey", [harvest], [prey, predators], 2.0)


def reactor(world: Blueprint) -> Mover:
    """A reaction that gets faster with heat and makes heat itself (Arrhenius), and is cooled."""
    amount = world.add_field("amount", 0.3, 1.0)
    temp = world.add_field("temp", 0.9, 1.3)
    axis = world.axis(temp, None, 0.4)
    barrier = world.constant("barrier", world.chance.log(2.0, 8.0))
    speed = world.constant("frequency", world.chance.log(0.3, 2.0) * world.pace * 2.718 ** world.constants[barrier])
    made = world.constant("heat", world.chance.log(0.2, 0.8))
    feed = world.constant("feed", world.chance.log(0.3, 1.0) * world.pace)
    cooling = world.constant("cooling", world.chance.log(0.3, 1.5) * world.pace)
    burning = f"{speed} * {amount} * np.exp(-{barrier} / {temp})"
    world.rates[amount] = f"{feed} * (1.0 - {amount}) - {burning}"
    world.push(axis, f"{made} * {burning}")
    world.push(axis, f"-{cooling} * ({temp} - 1.0)")
    world.event("event:clip", f"{temp} < 0.5", f"{temp} = 0.5", wanted=False)
    _not_below_zero(world, amount)
    return _stock("reactor", [axis], [temp, amount], 0.4)


def _not_below_zero(world: Blueprint, *fields: str) -> None:
    for name in fields:
        world.event("event:clip", f"{name} < 0.0", f"{name} = 0.0", wanted=False)


def _stock(kind: str, controls: list[Axis], fields: list[str], size: float) -> Mover:
    """A mover whose last field is what goals are about; pushes other than its own may go to driven fields only."""
    return Mover(kind, controls, [axis for axis in controls if axis.place], size=size, main=fields[-1])


STOCKS = {
    "tanks": tanks,
    "leaky": leaky,
    "thermal": thermal,
    "bioreactor": bioreactor,
    "predator_prey": predator_prey,
    "reactor": reactor,
}
