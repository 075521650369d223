"""Who asks: the user's own credentials, found in about a second, also without a network.

Google's library alone takes 12.6 s where there is no network, for it asks the metadata server
three times (measured 2026-11), and where it reads a user's own credentials it starts gcloud to ask
for the project. So a file is read directly, and the metadata server is asked once beforehand.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from tpustarter.cloud import failures, places
from tpustarter.cloud.failures import CloudProblem

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def find(project: str | None = None) -> Any:
    """Return the credentials that Google's library finds; raises CloudProblem for none.

    Args:
        project: Whose quota of calls is used where the credentials are a user's own and name none,
            because Google refuses such calls to most of its services.
            Source: https://docs.cloud.google.com/docs/quotas/set-quota-project (read 2026-11).
    """
    file = places.credentials_file()
    named = os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")
    if named and file is None:
        raise _unusable("there is no such file", named)
    if file is None and not places.is_google_machine():
        raise failures.problem(None, "Your default credentials were not found.", "no credentials")
    import google.auth
    from google.auth import credentials, exceptions
    from google.oauth2.credentials import Credentials

    auth: Any = google.auth  # its functions have no types
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of the quota project, which is set here
            if file is None:
                return auth.default(scopes=[SCOPE])[0]
            read: Any = auth.load_credentials_from_file(str(file))[0]
    except (AttributeError, TypeError) as error:
        raise _unusable("it is JSON, but no object", named) from error
    except (exceptions.GoogleAuthError, OSError, ValueError) as error:
        # Of several arguments the first one is the text.
        raise _unusable(str(error.args[0] if error.args else error), named) from error
    scoped: Any = credentials
    found: Any = scoped.with_scopes_if_required(read, [SCOPE])
    is_users_own = isinstance(read, Credentials)
    if project and is_users_own and not found.quota_project_id:
        return found.with_quota_project(project)
    return found


def _unusable(text: str, named: str | None) -> CloudProblem:
    """Return the Problem of a file of credentials; to log in does not replace one that is named."""
    if not named:
        return failures.problem(16, text, "the credentials cannot be used")
    what = "the file that `GOOGLE_APPLICATION_CREDENTIALS` names cannot be used"
    problem = failures.problem(16, text, what)
    problem.hint = "`unset GOOGLE_APPLICATION_CREDENTIALS`, or name a file that holds credentials"
    return problem
