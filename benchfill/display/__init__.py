"""What a person sees: terminal, plain lines, NDJSON."""
