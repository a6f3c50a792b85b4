"""This machine itself: the only subprocesses, the only driver library, the only /sys of the program.

Nothing in here may keep the caller waiting. What can hang for good (a driver call, a command, a file
of a driver in trouble) happens in another process, which is killed when its time is over, and
which nobody waits for when it cannot be killed.
"""
