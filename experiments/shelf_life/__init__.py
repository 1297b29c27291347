"""What buys shelf life? Six ways to train a model: who gets recourse, at what cost, and how long it lasts."""
