"""Other packages on the same data, side by side: adapters, and fits in processes of their own.

Nothing here is imported by the rest of the package, and no peer is imported before it is used.
"""

from driftglm.peers.data import LOSSES, NotApplicableError, PeerData, time_expanded
from driftglm.peers.process import Result, run_peer, run_peers
from driftglm.peers.registry import PEERS, Peer, chosen

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
