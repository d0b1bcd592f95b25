"""The embedded endpoint: simulated and replay worlds behind an OpenAI-compatible server."""
