"""Time that a measurement lets pass, as what it measures would: a policy that thinks, faults that are apart."""

from __future__ import annotations

import asyncio


async def pass_time(seconds: float) -> None:
    """Let so long pass in the event loop."""
    loop = asyncio.get_running_loop()
    later = loop.create_future()
    handle = loop.call_later(seconds, later.set_result, None)
    try:
        await later
    finally:
        handle.cancel()
