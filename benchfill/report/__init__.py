"""The page of a diagnosis: one HTML file with plots drawn as inline SVG, nothing loaded from elsewhere."""
