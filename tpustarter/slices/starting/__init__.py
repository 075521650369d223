"""Starts the probe on every host of a slice, with the programs that people start their jobs with.

There is one module `NAME_launcher.py` per engine. Each has `build_commands(request)`, a tuple of
`HostCommand`: one per host (ssh, gcloud), or one for all hosts (Slurm, Open MPI, Ray). It only
builds commands, so that a front end can show them (`format_script` in `start_request.py`) before
anything runs, and what is shown is what runs. `RunningCommands` in `running_commands.py` runs the
commands of every engine.

How a host is ended: the command's stdin brings the probe's zip (`probe_archive`) and stays open
behind it as the lifeline. `RunningCommands` writes a line end to it every `HEARTBEAT_S` seconds. On
the host, `slice --lifeline-s 60` ends the run at the end of the file, which comes when this program
or ssh dies, and after 60 s without a byte, because a link that was cut brings no end of file. An
engine without a stdin runs `slice --no-lifeline` and has to end its hosts itself.

A shell line on a host prints `REACHED` and `PLACED` on lines of their own, so that the stage in
which a host failed is known without reading what a program printed for people.
"""
