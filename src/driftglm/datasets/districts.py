"""Which states the Federal Reserve districts cover."""

from __future__ import annotations

import pandas as pd

from driftglm.datasets.provenance import Check, Provenance, Table

# Code of the Beige Book, seat, states wholly in the district, states shared with another one.
_DISTRICTS = (
    ("bo", "Boston", "MA ME NH RI VT", "CT"),
    ("ny", "New York", "NY", "CT NJ"),
    ("ph", "Philadelphia", "DE", "NJ PA"),
    ("cl", "Cleveland", "OH", "KY PA WV"),
    ("ri", "Richmond", "DC MD NC SC VA", "WV"),
    ("at", "Atlanta", "AL FL GA", "LA MS TN"),
    ("ch", "Chicago", "IA", "IL IN MI WI"),
    ("sl", "St. Louis", "AR", "IL IN KY MO MS TN"),
    ("mi", "Minneapolis", "MN MT ND SD", "MI WI"),
    ("kc", "Kansas City", "CO KS NE OK WY", "MO NM"),
    ("da", "Dallas", "TX", "LA NM"),
    ("sf", "San Francisco", "AK AZ CA HI ID NV OR UT WA", ""),
)


def federal_reserve_districts() -> Table:
    """District and state, a row a pair: 12 districts, 50 states and the District of Columbia.

    A state divided between districts has a row in each, with coverage "part". Territories (Puerto
    Rico and the Virgin Islands in the second district, Guam and others in the twelfth) are left
    out.

    Returns
    -------
    Table
        `frame` has number (1-12), district (the two letters of the Beige Book), district_name,
        state (postal code) and coverage ("full" or "part").

    Examples
    --------
    >>> frame = federal_reserve_districts().frame
    >>> frame.loc[frame["state"] == "NJ", "district_name"].tolist()
    ['New York', 'Philadelphia']
    """
    rows = [
        (number, code, name, state, coverage)
        for number, (code, name, full, part) in enumerate(_DISTRICTS, start=1)
        for states, coverage in ((full, "full"), (part, "part"))
        for state in states.split()
    ]
    names = ["number", "district", "district_name", "state", "coverage"]
    frame = pd.DataFrame(rows, columns=names)
    checks = (
        Check("districts", 12, frame["district"].nunique()),
        Check("states and DC", 51, frame["state"].nunique()),
        Check("pairs", 65, len(frame)),
    )
    what = "Federal Reserve districts and states"
    return Table(frame, Provenance(what, len(rows), len(frame), checks=checks))
