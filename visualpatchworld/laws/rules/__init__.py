"""Rules from a scene to the forms that its dynamics may have: what
can drive, touch, stop, turn and hold there, by kind and shape.
"""

from visualpatchworld.errors import VpwError
from visualpatchworld.laws.form import Family, Scene
from visualpatchworld.laws.rules.arm import arm
from visualpatchworld.laws.rules.hand import hand
from visualpatchworld.laws.rules.moving import gliding, walking
from visualpatchworld.laws.rules.pushing import pushing


class NoForms(VpwError):
    """A scene in which no law finds a body to act on."""


def propose(scene: Scene) -> Family:
    """The forms that the first rule which knows such a scene offers, and the experiments that tell them apart."""
    for rule in (hand, arm, pushing, walking, gliding):
        family = rule(scene)
        if family is not None:
            return family
    kinds = ", ".join(sorted({item.kind for item in scene.objects})) or "none"
    raise NoForms(f"No law knows how {scene.action_dim} actions could drive this scene (kinds of objects: {kinds}).")
