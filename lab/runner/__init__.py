"""What lab/vm is made of: one module per concept, the standard library only."""
