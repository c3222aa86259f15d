"""Bad times: where history has them, and how they are made of calm bars."""
