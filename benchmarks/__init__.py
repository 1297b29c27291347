"""Speed, measured and printed: ours beside the floor. Nothing here is asserted in a test."""
