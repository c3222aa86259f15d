"""A server that speaks as much of S3 as PyArrow asks of one, on loopback."""
