"""`python -m tradingbot.app.cli`: the command line without its installed script."""

from tradingbot.app.cli import main

main()
