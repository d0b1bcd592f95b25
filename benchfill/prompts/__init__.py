"""The versioned prompt files and the one place that renders them."""
