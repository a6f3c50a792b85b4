"""What each upstream component would choose for a request: simulators; nothing here is ever allocated.

A folder per mechanism behind one protocol (protocol.py). A mechanism answers a `Request` in a
`State` with an `Answer`: every set the real code can return, never one lucky pick; `step` gives the
state after one of them. Index-based cores that know neither nodes nor names are exported by the
mechanism's own package (gputopo.allocate.device_plugin).
"""
