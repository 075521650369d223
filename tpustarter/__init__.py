"""Onboarding tutorial and self-check for Google Cloud TPUs.

The map, and who may import whom:

    __main__    picks a front end and is the one place that shows errors
    cli/        one file per command; click is used here, and where errors are shown
    tui/        the full-screen app; the only user of textual
    selfcheck   from a bare machine to a verdict, as one stream of events
    plan        what will happen on this machine, and why
    runner      runs checks in probes, streams their events, times out, judges
    process     one supervised process: started, talked to, listened to, ended
    report/     results, verdict, and every way to show them
    setup       makes an environment step by step: steps (what is left), command (runs one),
                environment (whose folder it is)
    lesson      one lesson's process: runs its blocks and judges them; practice runs many
    blocks      reads a lesson's blocks and what they should print; lint says what is wrong there
    progress    what the learner has done so far
    content     reads checks/ and lessons/ without executing them
    interpreters, locations, state, lease, problem      small facts the above stand on
    probe/      runs inside the Python under test; standard library only
    host, tpus  facts about this machine and about TPUs; standard library only

Rules that hold everywhere (tests/test_rules.py proves each of them):

* This process never imports a framework, NumPy or a check. Checks are read with `ast`.
* probe/, host and tpus need nothing but Python 3.10: they travel as one zip file.
* No run outlives its reason, and looking at the machine changes nothing on it.
* Whatever comes from a device, a log or a lesson is text, never markup.
"""

__version__ = "0.1.0"
