"""When a desktop is usable: its window manager manages, its panel is there, its screen shows something."""

from __future__ import annotations

from gym_anything.runtime.session.x_wire import changed_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gym_anything.observations.frame import RgbArray
    from gym_anything.runtime.session.plan import SessionPlan
    from gym_anything.runtime.session.x_wire import XWire


def await_window_manager(wire: XWire, until: float) -> int:
    """Wait until a window of ours is managed: the manager's own sign on the root window comes too early.

    Returns: the window, gone again. Raises: OSError when monotonic ``until`` passes.
    """
    wire.watch_root_properties()
    probe = wire.map_probe()
    if not wire.wait_managed(probe, until):
        raise OSError("no window manager took our probe window")
    wire.destroy(probe)
    return probe


def await_clients(wire: XWire, probe: int, until: float, *, panel: bool) -> None:
    """Wait until the probe has gone from the manager's list of windows and, if one was started, the panel is in it."""
    list_atom = wire.atom("_NET_CLIENT_LIST")
    changed = False
    while True:
        clients = wire.property_words(wire.root, list_atom)
        changed = changed or probe in clients
        if probe not in clients and (clients or (changed and not panel)):
            return
        event = wire.next_event(until)
        if event is None:
            raise OSError("the panel did not appear" if probe not in clients else "our probe window did not go away")
        # A manager that is quick puts the probe into its list and takes it out before we look.
        changed = changed or changed_property(event) == list_atom


def shows_something(screen: RgbArray, session: SessionPlan) -> bool:
    """Tell whether a desktop is seen: one of one colour is no desktop, unless that was asked for."""
    plain = session["gradient"] if len(session["gradient"]) == 1 and not session["panel"] else []
    sample = screen[::16, ::16]
    return bool((sample != sample[0, 0]).any()) or list(plain) == [int.from_bytes(sample[0, 0].tobytes(), "big")]
