"""Other packages on the same data, side by side: adapters, and fits in processes of their own.

No peer is imported before it is used.
"""

from peer_fits.data import LOSSES, NotApplicableError, PeerData, time_expanded
from peer_fits.process import Result, run_peer, run_peers
from peer_fits.registry import PEERS, Peer, chosen

__all__ = [
    "LOSSES",
    "PEERS",
    "NotApplicableError",
    "Peer",
    "PeerData",
    "Result",
    "chosen",
    "run_peer",
    "run_peers",
    "time_expanded",
]
