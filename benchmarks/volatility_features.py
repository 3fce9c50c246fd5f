"""Daily prices become a weekly table; every feature is known before the week it predicts begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from volatility import TARGET

WINDOWS = {"1w": 5, "4w": 20, "13w": 65, "26w": 130, "52w": 260}  # trading days
RANGE_WINDOWS = ("1w", "4w", "13w", "26w")
RETURN_WINDOWS = ("1w", "4w", "13w")
LEAST_DAYS = 3
"""Weeks with fewer trading days (September 2001) have no volatility to speak of."""
PUBLISHED = pd.Timedelta(days=7)
"""A month's mean yields are taken to be public a week after the month has ended."""
TINY = 1e-8


def weekly_table(
    indices: Mapping[str, pd.DataFrame], oil: pd.Series, yields: pd.DataFrame
) -> pd.DataFrame:
    """One row a week and index: the log volatility of the week, and what was known before it.

    Parameters
    ----------
    indices
        By name, daily `High`, `Low`, `Close` and `Volume`, indexed by date. The first is the one
        that the others are told apart from.
    oil
        Daily prices of crude oil.
    yields
        Monthly mean yields `AAA` and `BAA`, indexed by the first day of the month they describe.

    Returns
    -------
    DataFrame
        `week` (its Friday), `year`, `index`, `log_volatility` and the features.
    """
    known = {name: _price_features(prices) for name, prices in indices.items()}
    outside = _oil_features(oil)
    parts = []
    for name, prices in indices.items():
        target = _weekly_target(prices)
        friday = pd.DatetimeIndex(target.index)
        # What is known at the end of the week before.
        before = friday - pd.Timedelta(days=7)
        columns = [_as_of(known[name], before)]
        for other in indices:
            if other != name:
                wanted = known[other][["vol_1w", "vol_4w", "return_1w"]]
                columns.append(_as_of(wanted.add_prefix("other_"), before))
        columns += [_as_of(outside, before), _spread_features(yields, before), _calendar(friday)]
        rows = pd.concat([part.set_axis(friday, axis=0) for part in columns], axis=1)
        rows.insert(0, "week", friday.strftime("%Y-%m-%d"))
        rows.insert(1, "year", friday.year)
        rows.insert(2, "index", name)
        rows.insert(3, TARGET, target.to_numpy())
        parts.append(rows)
    table = pd.concat(parts).dropna().sort_values(["week", "index"], kind="stable")
    return table.reset_index(drop=True)


def _weekly_target(prices: pd.DataFrame) -> pd.Series:
    """Log of the root mean square of daily log returns, by the Friday of their week."""
    returns = np.log(prices["Close"]).diff().dropna()
    weeks = (returns**2).resample("W-FRI")
    enough = weeks.count() >= LEAST_DAYS
    found: pd.Series = 0.5 * np.log(weeks.mean()[enough] + TINY)
    return found


def _price_features(prices: pd.DataFrame) -> pd.DataFrame:
    """Features of one index, by the day on whose evening they are known."""
    close = np.log(prices["Close"])
    returns = close.diff()
    # Parkinson's estimate of the variance of a day from its high and low.
    ranges = np.log(prices["High"] / prices["Low"]) ** 2 / (4 * np.log(2))
    # A few days have a volume of 0, which stands for unknown.
    volume: Any = np.log(prices["Volume"].astype(np.float64).where(prices["Volume"] > 0))
    out = {}
    for window, days in WINDOWS.items():
        out[f"vol_{window}"] = 0.5 * np.log((returns**2).rolling(days).mean() + TINY)
    for window in RANGE_WINDOWS:
        out[f"range_{window}"] = 0.5 * np.log(ranges.rolling(WINDOWS[window]).mean() + TINY)
    for window in RETURN_WINDOWS:
        moved = close.diff(WINDOWS[window])
        out[f"return_{window}"] = moved
        out[f"fall_{window}"] = np.maximum(-moved, 0.0)
    out["worst_day_1w"] = np.maximum(-returns.rolling(5).min(), 0.0)
    out["worst_day_4w"] = np.maximum(-returns.rolling(20).min(), 0.0)
    out["last_day_abs"] = returns.abs()
    out["drawdown_52w"] = close.rolling(260).max() - close
    out["volume_1w"] = volume.rolling(5, 1).mean() - volume.rolling(65, 40).mean()
    return pd.DataFrame(out)


def _oil_features(oil: pd.Series) -> pd.DataFrame:
    price = np.log(oil.dropna())
    returns = price.diff()
    return pd.DataFrame(
        {
            "oil_return_1w": price.diff(5),
            "oil_return_4w": price.diff(20),
            "oil_vol_4w": 0.5 * np.log((returns**2).rolling(20).mean() + TINY),
            "oil_vol_13w": 0.5 * np.log((returns**2).rolling(65).mean() + TINY),
        }
    )


def _spread_features(yields: pd.DataFrame, days: pd.DatetimeIndex) -> pd.DataFrame:
    """Yield of Baa over that of Aaa bonds in the last month published, and its change."""
    spread = yields["BAA"] - yields["AAA"]
    monthly = pd.DataFrame({"spread": spread, "spread_change_3m": spread.diff(3)})
    public = pd.DatetimeIndex(monthly.index) + pd.offsets.MonthEnd(1) + PUBLISHED
    return _as_of(monthly.set_axis(public, axis=0), days)


def _calendar(friday: pd.DatetimeIndex) -> pd.DataFrame:
    """What the calendar says about the week to come."""
    out = {f"month_{month}": friday.month == month for month in range(2, 13)}
    out["year_end"] = ((friday.month == 12) & (friday.day >= 24)) | (  # noqa: PLR2004
        (friday.month == 1) & (friday.day <= 3)  # noqa: PLR2004
    )
    out["expiry_week"] = (friday.day >= 15) & (friday.day <= 21)  # noqa: PLR2004
    return pd.DataFrame({name: np.asarray(flag, dtype=np.int64) for name, flag in out.items()})


def _as_of(known: pd.DataFrame, days: pd.DatetimeIndex) -> pd.DataFrame:
    """The last row known at each day."""
    return known.dropna(how="all").reindex(days, method="ffill").reset_index(drop=True)
