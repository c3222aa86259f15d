"""Results by market regime, told causally."""
