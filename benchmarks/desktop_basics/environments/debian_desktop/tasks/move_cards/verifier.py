"""Ground truth: the moves that the board told its server."""

from judging import judge
from web_events import events

START = {"Order paint": "To do", "Call plumber": "To do", "Buy seeds": "To do", "Fix gate": "Doing", "Sort tools": "Doing", "Clean shed": "Done"}
WANTED = {"Order paint": "Doing", "Fix gate": "Done"}


def verify(traj, env_info, task_info):
    board = dict(START)
    for move in events(env_info):
        board[move["card"]] = move["to"]
    others = {card: column for card, column in START.items() if card not in WANTED}
    return judge(
        {f"{card} is in {column}": (50, board[card] == column) for card, column in WANTED.items()},
        {"the other cards": all(board[card] == column for card, column in others.items())},
        f"the board: {board}",
    )
