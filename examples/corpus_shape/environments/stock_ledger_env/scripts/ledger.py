#!/usr/bin/python3
"""A stock ledger for a terminal. Usage: ledger [--begin FILE | --json]"""

import json
import os
import sqlite3
import sys

PATH = "/var/lib/ledger/ledger.sqlite"


def begin(database, file):
    with open(file, encoding="utf-8") as opening, database:
        database.execute("DROP TABLE IF EXISTS bookings")
        database.execute("CREATE TABLE bookings (number INTEGER PRIMARY KEY, goods TEXT, change INTEGER, by TEXT)")
        rows = [(goods, count, "opening") for goods, count in json.load(opening).items()]
        database.executemany("INSERT INTO bookings (goods, change, by) VALUES (?, ?, ?)", rows)


def stock(database):
    return dict(database.execute("SELECT goods, SUM(change) FROM bookings GROUP BY goods ORDER BY goods"))


def book(database, direction, goods, count):
    if goods not in stock(database):
        return f"there are no {goods} in this ledger"
    change = int(count) if direction == "in" else -int(count)
    if stock(database)[goods] + change < 0:
        return f"there are not so many {goods}"
    with database:
        booking = (goods, change, os.environ.get("SUDO_USER", "unknown"))
        database.execute("INSERT INTO bookings (goods, change, by) VALUES (?, ?, ?)", booking)
    return f"{goods}: {stock(database)[goods]}"


def answer(database, line):
    match line.split():
        case ["in" | "out" as direction, goods, count] if count.isdigit():
            return book(database, direction, goods, count)
        case ["list"]:
            return "\n".join(f"{count:6} {goods}" for goods, count in stock(database).items())
        case []:
            return ""
    return "in GOODS NUMBER | out GOODS NUMBER | list | quit"


def main(arguments):
    database = sqlite3.connect(PATH)
    if arguments[:1] == ["--begin"]:
        begin(database, arguments[1])
    elif arguments == ["--json"]:
        rows = database.execute("SELECT goods, change, by FROM bookings ORDER BY number").fetchall()
        print(json.dumps({"stock": stock(database), "bookings": rows}))
    else:
        while (line := input("stock> ").strip()) != "quit":
            print(answer(database, line))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (EOFError, KeyboardInterrupt):
        sys.exit(0)
