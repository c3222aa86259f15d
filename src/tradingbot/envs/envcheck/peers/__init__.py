"""Probes of public environments, as they are installed: nothing of theirs is changed or stubbed.

Fees are set through their own parameters or public attributes. What they do not tell stays untold.
"""

from tradingbot.envs.envcheck.peers.catalogue import PEERS, Absent, find_peers

__all__ = ["PEERS", "Absent", "find_peers"]
