"""Real host applications with this library inside; ``make hosts`` runs them."""
