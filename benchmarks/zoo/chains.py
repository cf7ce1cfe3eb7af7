"""Planar chains of links with point masses at their ends, on a pivot or a cart.

Angles are absolute, from hanging straight down. The equations are Lagrange's: a mass matrix, centrifugal pushes,
gravity, and torques at joints that act on one link and back on the one before.
"""

from zoo.blueprint import Axis, Blueprint, Mover


def chain(world: Blueprint, links: int | None = None, cart: bool | None = None) -> Mover:
    """One to three links; a cart under them where asked for, or by chance."""
    links = links or world.chance.whole(1, 3)
    cart = world.chance.happens(0.5) if cart is None else cart
    lengths = [world.constant(f"length_{i}", world.chance.log(0.4, 1.2)) for i in range(links)]
    masses = [world.constant(f"mass_{i}", world.chance.log(0.3, 2.0)) for i in range(links)]
    gravity = world.constant("gravity", world.chance.log(0.5, 2.0) * world.pace**2)
    spread = world.chance.pick((0.6, 2.5))
    angles = [world.add_field("theta", -spread, spread, angle=True) for _ in range(links)]
    spins = [world.add_field("omega", -0.4 * world.pace, 0.4 * world.pace, speed=True) for _ in range(links)]
    joints = [_joint(world, place, speed) for place, speed in zip(angles, spins, strict=False)]
    trolley = _cart(world) if cart else None
    _write_equations(world, lengths, masses, gravity, angles, spins, joints, trolley)
    controls = [trolley] if trolley else world.chance.some(joints, 1 if links < 3 else 2)
    axes = [*joints, *([trolley] if trolley else [])]
    return Mover(
        f"chain{links}{'_cart' if cart else ''}",
        controls,
        axes,
        _tip(lengths, angles, trolley),
        1.0,
        " - ".join(["0.0", *(f"{length} * np.cos({angle})" for length, angle in zip(lengths, angles, strict=False))]),
        energy=_energy(lengths, masses, gravity, angles, spins, trolley),
    )


def _joint(world: Blueprint, place: str, speed: str) -> Axis:
    force = world.unique(f"torque_{place}")
    world.sums[force] = []
    world.rates[place] = speed
    return Axis(place, speed, force, 1.5, world.pace**2, angle=True)


def _cart(world: Blueprint) -> Axis:
    size = world.chance.log(0.5, 3.0)
    x = world.add_field("x", -0.5 * size, 0.5 * size)
    v = world.add_field("v", -0.2 * size * world.pace, 0.2 * size * world.pace, speed=True)
    force = world.unique("push_cart")
    world.sums[force] = []
    world.rates[x] = v
    return Axis(x, v, force, size, 3.0 * size * world.pace**2)


def _write_equations(world, lengths, masses, gravity, angles, spins, joints, trolley) -> None:
    count = len(angles)
    carried = [masses[i] if i + 1 == count else f"({' + '.join(masses[i:])})" for i in range(count)]
    rows, right = [], []
    for i in range(count):
        lumps = [f"{carried[max(i, j)]} * {lengths[i]} * {lengths[j]}" for j in range(count)]
        row = [lumps[j] + (f" * np.cos({angles[i]} - {angles[j]})" if i != j else "") for j in range(count)]
        pushes = [joints[i].force] + ([f"-{joints[i + 1].force}"] if i + 1 < count else [])
        pushes += [f"-{carried[i]} * {gravity} * {lengths[i]} * np.sin({angles[i]})"]
        pushes += [f"-{lumps[j]} * np.sin({angles[i]} - {angles[j]}) * {spins[j]} ** 2" for j in range(count) if j != i]
        rows.append(row)
        right.append(" + ".join(pushes).replace("+ -", "- "))
    if trolley:
        _add_cart(world, rows, right, carried, lengths, angles, spins, trolley)
    matrix = ", ".join(f"[{', '.join(row)}]" for row in rows)
    gains = [world.unique(f"gain_{speed}") for speed in (*spins, *([trolley.speed] if trolley else []))]
    world.solves.append(f"mass = np.array([{matrix}])")
    world.solves.append(f"force = np.array([{', '.join(right)}])")
    world.solves.append(f"{', '.join(gains)}, = np.linalg.solve(mass, force).tolist()")
    for speed, gain in zip((*spins, *([trolley.speed] if trolley else [])), gains, strict=False):
        world.rates[speed] = gain


def _add_cart(world, rows, right, carried, lengths, angles, spins, trolley) -> None:
    """The cart's row and column: it moves all pivots sideways."""
    body = world.constant("cart_mass", world.chance.log(0.5, 4.0))
    sides = [f"{carried[i]} * {lengths[i]} * np.cos({angles[i]})" for i in range(len(angles))]
    for row, side in zip(rows, sides, strict=False):
        row.append(side)
    rows.append([*sides, f"{body} + {carried[0]}"])
    thrown = [f"{carried[i]} * {lengths[i]} * np.sin({angles[i]}) * {spins[i]} ** 2" for i in range(len(angles))]
    right.append(" + ".join([trolley.force, *thrown]))


def _tip(lengths, angles, trolley) -> tuple[str, str]:
    across = " + ".join(f"{length} * np.sin({angle})" for length, angle in zip(lengths, angles, strict=False))
    up = " - ".join(["0.0", *(f"{length} * np.cos({angle})" for length, angle in zip(lengths, angles, strict=False))])
    return (f"{trolley.place} + {across}" if trolley else across), up


def _energy(lengths, masses, gravity, angles, spins, trolley) -> str:
    """Kinetic and potential energy of the point masses (a cart's own mass aside)."""
    parts, across, up, height = [], [trolley.speed] if trolley else [], [], []
    for mass, length, angle, spin in zip(masses, lengths, angles, spins, strict=False):
        across.append(f"{length} * {spin} * np.cos({angle})")
        up.append(f"{length} * {spin} * np.sin({angle})")
        height.append(f"{length} * np.cos({angle})")
        parts.append(f"0.5 * {mass} * (({' + '.join(across)}) ** 2 + ({' + '.join(up)}) ** 2)")
        parts.append(f"-{mass} * {gravity} * ({' + '.join(height)})")
    return " + ".join(parts)
