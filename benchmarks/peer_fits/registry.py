"""Which peers there are, what they can do and how they are set."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

from driftglm.exceptions import DataError

# The adapters import their packages when they are used, so that these are constants only.
from peer_fits.tuning import N_STRENGTHS
from peer_fits.with_glum import CORRELATIONS
from peer_fits.with_glum import RIDGE as RIDGE_OVER_TIME
from peer_fits.with_pydlm import DISCOUNTS
from peer_fits.with_river import RATES
from peer_fits.with_sklearn import RIDGE

GLM = ("gaussian", "binomial", "poisson")
TWO = ("gaussian", "binomial")
TEXT_ONLY = ("text",)
TUNED = f"{N_STRENGTHS} strengths with warm starts"
RIDGES = f"{len(RIDGE)} strengths"
LACKING = {
    "text": "no model of word counts",
    "poisson": "no such model of counts",
    "binomial": "no such model of classes",
}
UNKNOWN = "no model of this family"


@dataclass(frozen=True)
class Peer:
    """A contestant.

    Parameters
    ----------
    name
        As tables and --peers name it: the package's short name first.
    package, module
        What pip installs and what Python imports.
    target
        "module:class" of the adapter, imported in the process that fits.
    families
        Those it can be used for; None: all there are.
    settings
        One line for readers.
    quick
        Whether a quick run includes it.
    """

    name: str
    package: str
    module: str
    target: str
    settings: str
    families: tuple[str, ...] | None = GLM
    options: dict[str, Any] = field(default_factory=dict)
    quick: bool = False

    @property
    def version(self) -> str | None:
        """Of the installed package; None where there is none."""
        try:
            return version(self.package) if find_spec(self.module) is not None else None
        except PackageNotFoundError:
            return None

    def adapter(self) -> Any:
        """The object with `prepare` and `fit`."""
        module, _, name = self.target.partition(":")
        return getattr(import_module(module), name)(**self.options)


def _own(name: str, settings: str, **more: Any) -> Peer:
    more = {"families": None} | more
    return Peer(f"driftglm {name}", "driftglm", "driftglm", settings=settings, **more)


def _sklearn(name: str, settings: str, **more: Any) -> Peer:
    target = more.pop("target", "peer_fits.with_sklearn:Sklearn")
    return Peer(f"sklearn {name}", "scikit-learn", "sklearn", target, settings, **more)


def _skglm(name: str, settings: str, **more: Any) -> Peer:
    return Peer(f"skglm {name}", "skglm", "skglm", settings=settings, **more)


GROUPS = "one group a feature on the time-expanded design, "
ADELIE = "n_threads=1, its default"
NEWEST = {"which": "newest step"}
_ALL = (
    _own("learned", "n_jobs=-1, else defaults", target="peer_fits.own:Drift", quick=True),
    _own(
        "exact", 'prior="exact", n_jobs=-1', target="peer_fits.own:Drift",
        options={"prior": "exact"},
    ),
    _own(
        "ridge-all", "baseline on all steps, tuned", target="peer_fits.own:Baseline",
        options={"name": "RidgeAll"}, families=TEXT_ONLY,
    ),
    _own(
        "lasso-all", "baseline on all steps, tuned", target="peer_fits.own:Baseline",
        options={"name": "LassoAll"}, families=TEXT_ONLY,
    ),
    _sklearn("lasso-all", TUNED, options={"share": 1.0}, families=TWO, quick=True),
    _sklearn("lasso-one", TUNED, options={"share": 1.0} | NEWEST, families=TWO),
    _sklearn("ridge-all", RIDGES, options={"share": 0.0}, quick=True),
    _sklearn("ridge-one", RIDGES, options={"share": 0.0} | NEWEST),
    _sklearn("elastic net-all", f"l1_ratio=.5, {TUNED}", options={"share": 0.5}, families=TWO),
    _sklearn(
        "elastic net-one", f"l1_ratio=.5, {TUNED}", options={"share": 0.5} | NEWEST, families=TWO,
    ),
    _sklearn(
        "Lasso(.001)", "Lasso(alpha=.001, tol=1e-4, max_iter=1000), not tuned",
        target="peer_fits.with_sklearn:FixedLasso", families=("gaussian",),
    ),
    _sklearn(
        "Lasso(.001) no intercept", "as before, fit_intercept=False",
        target="peer_fits.with_sklearn:FixedLasso", options={"intercept": False},
        families=("gaussian",),
    ),
    _skglm("lasso", TUNED, target="peer_fits.with_skglm:Lasso", quick=True),
    _skglm(
        "group lasso", GROUPS + TUNED, target="peer_fits.with_skglm:GroupLasso",
        families=("gaussian",),
    ),
    Peer(
        "celer lasso", "celer", "celer", "peer_fits.with_celer:Lasso", TUNED, TWO, quick=True,
    ),
    Peer(
        "celer group lasso", "celer", "celer", "peer_fits.with_celer:GroupLasso",
        GROUPS + TUNED, ("gaussian",),
    ),
    Peer(
        "adelie lasso", "adelie", "adelie", "peer_fits.with_adelie:Path",
        f"{TUNED}, {ADELIE}",
    ),
    Peer(
        "adelie group lasso", "adelie", "adelie", "peer_fits.with_adelie:Path",
        f"{GROUPS}{TUNED}, {ADELIE}",
        options={"which": "expanded"}, quick=True,
    ),
    Peer("glum lasso", "glum", "glum", "peer_fits.with_glum:Lasso", TUNED),
    Peer(
        "glum ridge-ts", "glum", "glum", "peer_fits.with_glum:RidgeOverTime",
        "block-tridiagonal P2 on the time-expanded design, "
        f"{len(RIDGE_OVER_TIME)} strengths x {len(CORRELATIONS)} correlations",
        quick=True,
    ),
    Peer(
        "glmnet lasso", "python-glmnet", "glmnet", "peer_fits.with_glmnet:Path",
        f"standardize=False, {TUNED}", TWO, quick=True,
    ),
    Peer(
        "pydlm", "pydlm", "pydlm", "peer_fits.with_pydlm:Discounted",
        f"intercept and all features dynamic, a row a time, {len(DISCOUNTS)} discounts",
        ("gaussian",), quick=True,
    ),
    Peer(
        "statsmodels random walks", "statsmodels", "statsmodels",
        "peer_fits.with_statsmodels:RandomWalks",
        "MLEModel: coefficients move once a step, two variances by likelihood", ("gaussian",),
        quick=True,
    ),
    Peer(
        "river online", "river", "river", "peer_fits.with_river:Online",
        f"gradient steps, one pass, {len(RATES)} learning rates", quick=True,
    ),
)  # fmt: skip

PEERS = {peer.name: peer for peer in _ALL}


def chosen(
    names: Iterable[str] = (), *, quick: bool = False, family: str | None = None
) -> list[Peer]:
    """Peers by name or by the first words of it; no name: all, or those of a quick run.

    Where `family` is not text, peers for text only are left out unless named in full.
    """
    wanted = list(names)
    found = _named(wanted) if wanted else [p for p in PEERS.values() if p.quick or not quick]
    if family in {None, "text"}:
        return found
    return [peer for peer in found if peer.families != TEXT_ONLY or peer.name in wanted]


def _named(wanted: list[str]) -> list[Peer]:
    out: dict[str, Peer] = {}
    for name in wanted:
        exact = {name: PEERS[name]} if name in PEERS else {}
        found = exact or {key: PEERS[key] for key in PEERS if key.startswith(f"{name} ")}
        if not found:
            known = ", ".join(PEERS)
            raise DataError(f"there is no peer {name!r}; choose among {known}, or a first word.")
        out |= found
    return list(out.values())


def versions(peers: Iterable[Peer]) -> dict[str, str]:
    """Of the peers' packages that are installed, and of what they all build on."""
    packages = {peer.package: peer.version for peer in peers}
    for name in ("numpy", "scipy", "scikit-learn", "numba"):
        packages.setdefault(name, version(name))
    return {name: found for name, found in packages.items() if found is not None}


def why_not(peer: Peer, family: str) -> str | None:
    """The reason why a peer is not applicable to a family, or None."""
    if peer.families is None or family in peer.families:
        return None
    return "for text only" if peer.families == TEXT_ONLY else LACKING.get(family, UNKNOWN)
