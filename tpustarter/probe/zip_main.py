"""Entry point of the zip file: reject a Python that is too old, then supervise or serve.

It must parse in any Python 3, so that an old one prints a message instead of a syntax error.
"""

import sys

TOO_OLD = 64
"""Exit status by which the runner recognises a Python that is too old for the probe."""

if __name__ == "__main__":
    if sys.version_info < (3, 10):  # noqa: UP036  any Python may be under test
        sys.stderr.write("Python %d.%d\n" % sys.version_info[:2])  # noqa: UP031
        sys.exit(TOO_OLD)
    if len(sys.argv) < 2:
        sys.stderr.write("this is tpustarter's probe: `tpustarter check --python PATH` runs it\n")
        sys.exit(2)
    if sys.argv[1:2] == ["child"]:
        from tpustarter.probe.child import main

        sys.exit(main(sys.argv[1:]))
    if sys.argv[1:2] == ["slice"]:
        from tpustarter.probe.slice.standalone_host import main

        sys.exit(main(sys.argv[1:]))
    import os

    from tpustarter.probe.supervisor import main

    os._exit(main(sys.argv[1:]))  # nothing is left to write, and its exit is waited for
