"""May this call run? Rules and the pure decision over them."""
