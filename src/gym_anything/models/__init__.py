"""Vision models over the wire: endpoints, calls with retries and a bound, tokens and cost. Names no agent, no judge."""
