"""Other programs, and the one error for everything that keeps a package from being made."""

import subprocess


class Refused(Exception):
    """A package that cannot be made, or that is not as it should be."""


def run(command, **options):
    """Runs a command and gives its output back; a failure says what it printed."""
    command = [str(part) for part in command]
    try:
        done = subprocess.run(command, capture_output=True, check=False, **options)
    except FileNotFoundError:
        raise Refused(f"`{command[0]}` is not installed") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise Refused(f"`{' '.join(command)}` ended with {done.returncode}: {said}")
    return done.stdout
