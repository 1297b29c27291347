"""What buys shelf life? Models trained by the regimes of all five papers, on the same tables, asked the same."""
