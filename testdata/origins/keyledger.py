#!/usr/bin/env python3
"""The key ledger that sheetclaim is measured against: the script of the guide that the
idea comes from, written anew from its description. One SQLite file, BEGIN IMMEDIATE, a
lease of 900 s, no token.

  keyledger.py FILE claim|done|release KEY    exit 0: you own it; 1: done or taken; 2: error
  keyledger.py FILE prune DAYS
  keyledger.py FILE once KEY COMMAND …        runs a command once per key
  keyledger.py FILE bench PAIRS PROCESSES     claim-and-done pairs a second, and the seconds of each
                                              claim, printed
"""

import multiprocessing
import sqlite3
import subprocess
import sys
import time

LEASE = 900


def connect(path):
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE IF NOT EXISTS keys (key TEXT PRIMARY KEY, state TEXT, at REAL)")
    return db


def cleaned(key):
    key = key.strip()
    if not key:
        raise ValueError("blank key")
    return key


def claim(db, key):
    key, now = cleaned(key), time.time()
    db.execute("BEGIN IMMEDIATE")
    row = db.execute("SELECT state, at FROM keys WHERE key = ?", (key,)).fetchone()
    won = row is None or (row[0] == "claimed" and now - row[1] >= LEASE)
    if won:
        db.execute("INSERT OR REPLACE INTO keys VALUES (?, 'claimed', ?)", (key, now))
    db.execute("COMMIT")
    return won


def done(db, key):
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE keys SET state = 'done', at = ? WHERE key = ?", (time.time(), cleaned(key)))
    db.execute("COMMIT")


def release(db, key):
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM keys WHERE key = ? AND state = 'claimed'", (cleaned(key),))
    db.execute("COMMIT")


def prune(db, days):
    db.execute("BEGIN IMMEDIATE")
    db.execute("DELETE FROM keys WHERE state = 'done' AND at < ?", (time.time() - days * 86400,))
    db.execute("COMMIT")


def once(db, key, command):
    if not claim(db, key):
        return 1
    code = subprocess.call(command)
    (done if code == 0 else release)(db, key)
    return code


def worker(path, name, pairs):
    db, took = connect(path), []
    for i in range(pairs):
        key, began = f"{name}:{i}", time.time()
        if not claim(db, key):
            raise RuntimeError(f"{key} was taken")
        took.append(time.time() - began)
        done(db, key)
    return took


def bench(path, pairs, processes):
    connect(path).close()
    with multiprocessing.Pool(processes) as pool:
        began = time.time()
        took = pool.starmap(worker, [(path, n, pairs // processes) for n in range(processes)], chunksize=1)
        rate = pairs / (time.time() - began)
    return rate, [seconds for part in took for seconds in part]


def main(path, action, *args):
    if action == "bench":
        rate, took = bench(path, int(args[0]), int(args[1]))
        print(f"{rate:.0f}", *(f"{seconds:.6f}" for seconds in took))
        return 0
    db = connect(path)
    if action == "claim":
        return 0 if claim(db, args[0]) else 1
    if action == "once":
        return once(db, args[0], args[1:])
    if action == "prune":
        prune(db, int(args[0]))
        return 0
    {"done": done, "release": release}[action](db, args[0])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except Exception as e:
        print(e, file=sys.stderr)
        sys.exit(2)
