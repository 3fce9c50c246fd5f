"""Parameters by name, looked up when they are checked."""

from driftglm.estimators.parameters import Registered


def test_names_registered_later_count_and_classes_only_if_asked():
    homes = {"a": "x"}
    names, classes = Registered(homes), Registered(homes, classes=True)
    assert names.is_satisfied_by("a")
    assert not names.is_satisfied_by("b")
    homes["b"] = "y"
    assert names.is_satisfied_by("b")
    assert str(names) == "a str among {'a', 'b'}"
    assert not names.is_satisfied_by(int)
    assert classes.is_satisfied_by(int)
    assert not classes.is_satisfied_by(1)
