"""Charts as inline SVG: small, sharp when printed, and in the colours of the page around them."""
