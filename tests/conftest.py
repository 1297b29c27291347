"""Most tests are about one model: guides, forty further trainings, are switched off unless a test asks."""

from collections.abc import Iterator

import hypothesis
import pytest

from holdtrue.classifier import RecourseClassifier

DEFAULTS = RecourseClassifier.__init__.__kwdefaults__
AS_USERS_HAVE_IT = DEFAULTS["hold"]
DEFAULTS["hold"] = None
# Beside other work a call may take long by itself.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def default_hold() -> Iterator[float]:
    """The default of `hold` as users have it."""
    DEFAULTS["hold"] = AS_USERS_HAVE_IT
    yield AS_USERS_HAVE_IT
    DEFAULTS["hold"] = None
