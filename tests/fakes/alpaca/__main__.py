"""Run the fake Alpaca as a process: `PYTHONPATH=src:tests python -m fakes.alpaca`.

The key pair that it lets in comes from APCA_API_KEY_ID and APCA_API_SECRET_KEY. The first line of
its output is JSON with its addresses; it serves until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

from fakes.alpaca.fake import FakeAlpaca
from fakes.alpaca.faults import FaultPlan
from fakes.alpaca.market_hours import AlwaysOpen, NewYorkHours
from fakes.alpaca.venue import START_CASH, VenueOptions


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--store", type=Path, help="file that keeps the state over restarts")
    parser.add_argument("--symbols", default="AAPL,MSFT,SPY")
    parser.add_argument("--fills", default="at_quote", help="at_quote, at_next_open or by_hand")
    parser.add_argument("--partial-share", type=float, default=0.1)
    parser.add_argument("--requests-per-minute", type=int, default=200, help="0: no limit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cash", type=Decimal, default=START_CASH)
    parser.add_argument("--hours", nargs=2, metavar=("FIRST", "LAST"), help="days of XNYS")
    args = parser.parse_args()
    hours = NewYorkHours(*map(date.fromisoformat, args.hours)) if args.hours else AlwaysOpen()
    options = VenueOptions(
        symbols=tuple(args.symbols.split(",")),
        fills=args.fills,
        partial_share=args.partial_share,
        seed=args.seed,
        hours=hours,
        start_cash=args.cash,
    )
    keys = {os.environ["APCA_API_KEY_ID"]: os.environ["APCA_API_SECRET_KEY"]}
    plan = FaultPlan(requests_per_minute=args.requests_per_minute or None)
    fake = FakeAlpaca(options, plan, store=args.store, port=args.port, keys=keys)

    async def serve() -> None:
        server = await fake.listen(asyncio.get_running_loop())
        sys.stdout.write(json.dumps({"url": fake.url, "stream_url": fake.stream_url}) + "\n")
        sys.stdout.flush()
        await server.serve_forever()

    asyncio.run(serve())


if __name__ == "__main__":
    main()
