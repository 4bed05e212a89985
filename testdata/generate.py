#!/usr/bin/env python3
"""Writes the sample sheets beside this file. The same output every time.

  O'Brien Kunden 2026.csv   a booking list as offices keep it: 320 rows with accents,
                            emoji, apostrophes, blanks, formulas and real date cells
  bookings.csv              the small sheet of the demo
"""
import csv, datetime, os, random

here = os.path.dirname(os.path.abspath(__file__))
rnd = random.Random(2026)
first = ["Ada", "Zoë", "Jörg", "Siân", "Łukasz", "Nguyễn", "Renée", "Björk", "Séamus", "Aïcha", "Ömer", "Ines", "Karl-Heinz", "Mary Ann", "D’Arcy", "李", "Олена", "Sven", "Chloé", "Tomás"]
last = ["O'Brien", "Müller", "García Márquez", "d'Angelo", "Ångström", "Nowak", "van der Berg", "Süß", "Smith & Sons", "Đặng", "Петренко", "Le Roux", "M‘Bala", "Þórsdóttir", "Özdemir", "Jones"]
notes = ["", "", "", "vegetarian 🌱", "pays cash", "asked for a window seat 🪟", "\"regular\"", "line one\nline two", "tab\there", "back\\slash", "'=not a formula?", "+49 30 1234"]
status = ["completed", "completed", "completed", "cancelled", "no show", ""]

rows = [["Booking", "First name ", "Last name", "E-mail", "Visit status", "Visited at", "Guests", "Total", "Review\u00a0status", "Remarks", "Newsletter", "Claimed by"]]
start = datetime.datetime(2026, 11, 2, 9, 0)
for i in range(320):
    if i in (40, 41, 160):
        rows.append([""] * 12)
        continue
    n = len(rows) + 1
    when = start + datetime.timedelta(hours=2 * i, minutes=15 * (i % 4))
    done = "sent" if i < 30 else ""
    rows.append([
        f"B-{1001 + i}", rnd.choice(first), rnd.choice(last), f"guest{i}@example.com", rnd.choice(status),
        when.strftime("%Y-%m-%d %H:%M"), str(rnd.randint(1, 8)), f"=G{n}*25", done, rnd.choice(notes),
        rnd.choice(["TRUE", "FALSE", ""]), "",
    ])
with open(os.path.join(here, "O'Brien Kunden 2026.csv"), "w", newline="", encoding="utf-8") as f:
    csv.writer(f).writerows(rows)

demo = [["Booking", "First name", "E-mail", "Visit status", "Visited at", "Review status", "Note"]]
people = ["Ada", "Zoë", "Jörg", "Siân", "Łukasz", "Renée", "O'Brien", "Aïcha", "Ömer", "Ines", "李", "Tomás"]
for i, name in enumerate(people):
    state, note, mark = "completed", "", ""
    if i == 3:
        state = "cancelled"
    if i == 5:
        mark = "sent"
    if i == 8:
        note = "prefers the terrace 🌞"
    demo.append([f"B-{1001 + i}", name, f"guest{i + 1}@example.com", state, f"2026-11-{10 + i:02d} 18:30", mark, note])
with open(os.path.join(here, "bookings.csv"), "w", newline="", encoding="utf-8") as f:
    csv.writer(f).writerows(demo)
