"""Verifies webhook deliveries, and tells those that came before."""

import base64
import binascii
import hashlib
import hmac
import re
import time

AGE_SECONDS_MAX = 300
KEPT_SECONDS = 24 * 3600


class NotGenuine(Exception):
    """Answer 400, and do nothing."""


def verify_delivery(headers, body, secret, now=None):
    """The id of a genuine delivery. headers: by their lower-case names; body: the bytes as they came."""
    now = time.time() if now is None else now
    delivery_id = headers.get("webhook-id", "")
    seconds = headers.get("webhook-timestamp", "")
    if not re.fullmatch(r"[0-9]{1,12}", seconds) or abs(now - int(seconds)) > AGE_SECONDS_MAX:
        raise NotGenuine("it is too old, or a clock is wrong")
    signed = f"{delivery_id}.{seconds}.".encode() + body
    digest = hmac.new(_key_of(secret), signed, hashlib.sha256).digest()
    expected = b"v1," + base64.b64encode(digest)
    # While a secret is being changed there are two signatures.
    given = headers.get("webhook-signature", "").encode().split(b" ")
    if not any(hmac.compare_digest(each, expected) for each in given):
        raise NotGenuine("the signature is not of this delivery and secret")
    return delivery_id


def _key_of(secret):
    """What stands behind whsec_ is base64; any other secret is the key as it is."""
    if secret.startswith("whsec_") and secret != "whsec_":
        try:
            return base64.b64decode(secret[len("whsec_"):], validate=True)
        except binascii.Error:
            pass
    return secret.encode()


class SeenDeliveries:
    """The ids of a day. Where several processes receive, a table with a unique index takes its place."""

    def __init__(self):
        self._at = {}

    def __contains__(self, delivery_id):
        return delivery_id in self._at

    def add(self, delivery_id, now=None):
        """Once its work is done, so that a crash before leaves it to the next attempt."""
        now = time.time() if now is None else now
        self._at[delivery_id] = now
        for old in [each for each, at in self._at.items() if now - at > KEPT_SECONDS]:
            del self._at[old]
