"""Ways to tell someone: console, file, webhook, e-mail, and every service that Apprise knows."""
