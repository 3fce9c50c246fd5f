"""Names that users type and files hold, and the classes they stand for.

The one place where something new is registered: a line here, and the library, the command line and
the files know it. Classes are named by where they are defined and imported when they are asked for,
so that this module imports nothing. A file holds names only; what is not listed here cannot be made
from one.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from driftglm.exceptions import DataError

FAMILIES = {
    "gaussian": "driftglm.families.gaussian:Gaussian",
    "binomial": "driftglm.families.binomial:Binomial",
    "multinomial": "driftglm.families.multinomial:SoftmaxClass",
    "poisson": "driftglm.families.poisson:Poisson",
    "negative-binomial": "driftglm.families.negative_binomial:NegativeBinomial",
    "gamma": "driftglm.families.gamma:Gamma",
    "beta-binomial": "driftglm.families.beta_binomial:BetaBinomial",
    "student": "driftglm.families.student:Student",
}
"""Distributions of the target, by the name users type."""

PRIORS = {
    "learned": "driftglm.priors.learned:Learned",
    "exact": "driftglm.priors.exact:Exact",
    "variational": "driftglm.priors.variational:Variational",
    "fixed": "driftglm.priors.fixed:Fixed",
}
"""Priors of a coefficient path, by the name users type."""

ESTIMATORS = (
    "driftglm.estimators.classification:DriftClassifier",
    "driftglm.estimators.counts:DriftPoissonRegressor",
    "driftglm.estimators.general:DriftGLM",
    "driftglm.estimators.regression:DriftRegressor",
    "driftglm.estimators.text:DriftTextModel",
    "driftglm.baselines.lasso:LassoAll",
    "driftglm.baselines.lasso:LassoOne",
    "driftglm.baselines.ridge:RidgeAll",
    "driftglm.baselines.ridge:RidgeOne",
    "driftglm.baselines.ridge_ts:RidgeTS",
    "driftglm.text.vocabulary:RankedVocabulary",
)
"""What a file may hold that is made from its parameters and then given what `fit` found."""

RECORDS = (
    "driftglm.data.kinds:Kinds",
    "driftglm.data.timesteps:TimeAxis",
    "driftglm.evaluation.comparison:Comparison",
    "driftglm.fitting.coefficients:SharedFit",
    "driftglm.fitting.coefficients:Columns",
    "driftglm.fitting.coefficients:ColumnSizes",
    "driftglm.fitting.draws:Draws",
    "driftglm.fitting.fits:InterceptFit",
    "driftglm.fitting.fits:ModeFit",
    "driftglm.fitting.fits:PosteriorFit",
    "driftglm.fitting.group_effects:GroupFit",
    "driftglm.fitting.history:History",
    "driftglm.fitting.history:StepScores",
    "driftglm.fitting.identity:ColumnNotes",
    "driftglm.fitting.joint_fit:JointFit",
    "driftglm.fitting.kinds:KindsFit",
    "driftglm.fitting.outcome:Forecaster",
    "driftglm.fitting.residuals:RowChecks",
    "driftglm.fitting.rows:Rows",
    "driftglm.fitting.sampled:SampledFit",
    "driftglm.fitting.text_averaging:TextForecasters",
    "driftglm.fitting.text_fit:ModeTextFit",
    "driftglm.fitting.text_fit:PosteriorTextFit",
    "driftglm.objective.noise:NoisePath",
    "driftglm.priors.mixture:Components",
    "driftglm.priors.seasons:SeasonalComponents",
    "driftglm.solvers.sampling:Sampling",
    "driftglm.solvers.text_learned:TextPosterior",
    "driftglm.solvers.text_mode:TextMode",
    "driftglm.tables.encoder:Column",
    "driftglm.tables.encoder:TableEncoder",
    "driftglm.tables.encoder:TableSpec",
    "driftglm.tables.model:TableModel",
)
"""What a file may hold that is made from its fields, beside families and priors."""


def class_name(home: str) -> str:
    """How files call the class at a home, "module:Class"."""
    module, _, name = home.partition(":")
    return f"predictive.{name}" if module.startswith("driftglm.predictive.") else name


def stored_name(kind: type) -> str:
    """How files call a class."""
    return class_name(f"{kind.__module__}:{kind.__name__}")


DISTRIBUTIONS = (
    "driftglm.predictive.bernoulli:Bernoulli",
    "driftglm.predictive.beta_binomial:BetaBinomial",
    "driftglm.predictive.categorical:Categorical",
    "driftglm.predictive.gamma:Gamma",
    "driftglm.predictive.mixture:Mixture",
    "driftglm.predictive.negative_binomial:NegativeBinomial",
    "driftglm.predictive.normal:Normal",
    "driftglm.predictive.poisson:Poisson",
    "driftglm.predictive.student:Student",
)
"""Forecasts a file may hold; files say "predictive." first, since families share some names."""

WHOLE = ("Comparison", "TableModel", *(class_name(home) for home in DISTRIBUTIONS))
"""Records that are a file of their own; the others are parts of one."""


def register_family(name: str, home: str) -> None:
    """Make a family known under a name; `home` is "module:Class".

    Neither name nor class may be known already, since users type the one and files hold the other.
    """
    _register(FAMILIES, name, home, "driftglm.families.base:Family")


def register_prior(name: str, home: str) -> None:
    """Make a prior known under a name; `home` is "module:Class", names as for families."""
    _register(PRIORS, name, home, "driftglm.priors.base:Prior")


def snapshot() -> dict[str, dict[str, str]]:
    """What is registered by now, to be told to processes that know the lines above only."""
    return {"families": dict(FAMILIES), "priors": dict(PRIORS)}


def registered_outside() -> list[str]:
    """Homes of families and priors that are no part of this package."""
    homes = (*FAMILIES.values(), *PRIORS.values())
    return sorted(home for home in homes if not home.startswith("driftglm."))


def restore(known: dict[str, dict[str, str]]) -> None:
    """Register what another process knew."""
    FAMILIES.update(known["families"])
    PRIORS.update(known["priors"])


def estimators() -> dict[str, str]:
    """Homes of what a file may hold as an estimator, by the name of the class."""
    return {class_name(home): home for home in ESTIMATORS}


def records() -> dict[str, str]:
    """Homes of what a file may hold as a record, by the name of the class."""
    homes = (*FAMILIES.values(), *PRIORS.values(), *RECORDS, *DISTRIBUTIONS)
    return {class_name(home): home for home in homes}


def is_listed(homes: dict[str, str], kind: type[Any]) -> bool:
    """Whether a class is one of those listed, and not merely one of the same name."""
    home = homes.get(stored_name(kind))
    return home is not None and resolve(home) is kind


def find(homes: dict[str, str], name: str, what: str) -> Any:
    """The class a name stands for."""
    if name not in homes:
        known = ", ".join(repr(each) for each in homes)
        raise DataError(f"{what}={name!r} is not known; choose one of {known}.")
    try:
        return resolve(homes[name])
    except (ImportError, AttributeError) as error:
        raise DataError(
            f"{what}={name!r} is registered as {homes[name]!r}, which cannot be imported "
            f"({error}); make its module importable here."
        ) from error


def resolve(home: str) -> Any:
    """The class at "module:Class"."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


def _register(homes: dict[str, str], name: str, home: str, base: str) -> None:
    """Add a line after all that can be wrong with it has been looked at."""
    if not isinstance(name, str) or not isinstance(home, str) or not name:
        raise DataError(f"{name!r} and {home!r}; pass a name and 'package.module:Class'.")
    module, _, kind = home.partition(":")
    if not module or not kind.isidentifier():
        raise DataError(f"{home!r} names no class; write 'package.module:Class'.")
    if homes.get(name) == home:
        return
    if name in homes:
        raise DataError(f"{name!r} is registered already, as {homes[name]!r}; choose another name.")
    if kind in estimators() | records():
        raise DataError(
            f"a class called {kind!r} is known already and files hold classes by that name; rename "
            "yours."
        )
    found = find({name: home}, name, "registered name")
    if not (isinstance(found, type) and issubclass(found, resolve(base))):
        raise DataError(f"{home!r} is no subclass of {base.replace(':', '.')}; make it one.")
    missing = sorted(getattr(found, "__abstractmethods__", ()))
    if missing:
        raise DataError(f"{home!r} lacks {', '.join(missing)}; define them.")
    homes[name] = home
