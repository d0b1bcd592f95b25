"""What an LLM may call, and what it is called with: schemas, roles, endpoints, graders."""
