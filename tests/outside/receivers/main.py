"""Says of every golden delivery what the receiver of the guide makes of it: main.py <folder> <seconds>."""

import pathlib
import sys

from verify_delivery import NotGenuine, SeenDeliveries, verify_delivery

DAY = 24 * 3600


def main(folder, now):
    seen = SeenDeliveries()
    for path in sorted(folder.glob("*valid/*.http")):
        head, body = path.read_bytes().split(b"\n\n", 1)
        lines = head.decode().split("\n")[1:]
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        secrets = path.with_suffix(".secrets").read_text().splitlines()
        for i, secret in enumerate(secrets):
            print(path.relative_to(folder), i, told(headers, body, secret, now, seen))
    seen.add("yesterday", now - DAY - 1)
    seen.add("today", now)
    print("after a day:", "repeat" if "yesterday" in seen else "new")


def told(headers, body, secret, now, seen):
    try:
        delivery_id = verify_delivery(headers, body, secret, now)
    except NotGenuine:
        return "refused"
    word = "repeat" if delivery_id in seen else "new"
    seen.add(delivery_id, now)
    return f"{word} {delivery_id}"


main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
