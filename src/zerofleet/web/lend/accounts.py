"""Tokens, consent, and how much one sender and one address may ask for."""

import hashlib
import secrets

from zerofleet.web.errors import Refused
from zerofleet.web.lend.schema import Consent
from zerofleet.web.safety import Rate

SIGN_UPS = Rate(burst=5, per_s=5 / 3600)
"""Of one address."""
BAD_TOKENS = Rate(burst=20, per_s=0.1)
"""Wrong tokens of one address."""
MESSAGES = Rate(burst=60, per_s=4)
"""Of one account over all its tabs."""
MESSAGES_OF_ADDRESS = Rate(burst=4000, per_s=200)
"""A school or a company is one address."""
REFUSALS = Rate(burst=20, per_s=0.05)
"""Refused messages and games of one account before its socket is closed."""
MAX_TABS = 8
"""Of one account."""
MAX_DEVICES = 50
"""Of one account."""
MAX_OPEN_GAMES = 512
"""Given out to one account and not returned."""
MAX_GAMES_PER_DAY = 50_000
"""Of one account."""

CONSENT_TEXT = (
    "While this page lends, it uses this device's processor, memory and network to play games "
    "that train a program, at the shares that you set, until you stop it or close the tab.\n\nThe "
    "server stores the name you choose, a hash of your token, a hash of a random number that "
    "stands for this device, the kind of computation (wasm or webgpu), and for each game its "
    "number, time, length and result. It does not store your network address; it counts requests "
    "per address in memory. The community page shows your name with your totals.\n\nDeleting your "
    "account removes the name, the hashes and every link between you and your games; the games "
    "themselves stay in the training data, as nobody's."
)
CONSENT = Consent(version=hashlib.sha256(CONSENT_TEXT.encode()).hexdigest()[:12], text=CONSENT_TEXT)


def new_token() -> str:
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> bytes:
    """A token has 256 random bits, so a plain hash cannot be searched."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def device_hash(account: int, device: bytes) -> str:
    """Different for the same browser under another account."""
    return hashlib.sha256(account.to_bytes(8, "little") + device).hexdigest()[:16]


def token_in(authorization: str | None) -> str:
    """The token of an Authorization header."""
    kind, _, token = (authorization or "").partition(" ")
    if kind.lower() != "bearer" or not 16 <= len(token) <= 100:
        raise Refused(401, "no_token", "this needs the header Authorization: Bearer TOKEN")
    return token
