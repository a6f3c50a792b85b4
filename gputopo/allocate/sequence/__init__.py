"""What many requests, one after another, leave behind: every state that can be, and how to do better.

    events.py   what happens: pods that start and end
    walk.py     all states after each event, whatever the mechanism picks
    orders.py   the same pods in every other order, and sets that would suit them all
    repair.py   the fewest pods to restart, and in which order, so that a good set is the only answer
"""
