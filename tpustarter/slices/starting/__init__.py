"""Starts the probe on every host of a slice, with the programs that people start their jobs with.

Each engine has a module `NAME_launcher.py` with `build_commands(request)`, which returns a tuple of
`HostCommand`: one per host (ssh, gcloud), or one for all hosts (Slurm, Open MPI, Ray). It only
builds commands, so a front end can show them (`format_script` in `launch_request.py`) before
anything runs, and what is shown is what runs. `RunningCommands` in `running_commands.py` runs the
commands of every engine.

How a host is ended: the command's stdin carries the probe's zip (`probe_archive`) and then stays
open as the lifeline. `RunningCommands` writes a newline to it every `HEARTBEAT_S` seconds. On the
host, `slice --lifeline-s 60` ends the run at end of file, which comes when this program or ssh
dies, and after 60 s without a byte, because a broken connection brings no end of file. An engine
without a stdin runs `slice --no-lifeline` and has to end its hosts itself.

The shell command on a host prints `REACHED` and `PLACED` on lines of their own, so the stage at
which a host failed is known without parsing output meant for people.
"""
