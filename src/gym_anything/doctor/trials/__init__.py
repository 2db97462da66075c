"""Little programs that try one thing each and print a JSON object; run in a bare interpreter, never imported."""
