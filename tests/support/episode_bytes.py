"""Bytes of episodes that the core would not write: with a valid hash and any content."""

MASK = 2**64 - 1


def rehashed(body):
    """The bytes of an episode without its hash, and behind them the hash that belongs there: an
    independent reading of cpp/base/hash.h."""
    return body + hash_low(body).to_bytes(8, "little")


def hash_low(data):
    low = mix64(0)
    high = mix64(low)
    low ^= len(data)
    for at in range(0, len(data), 16):
        a = int.from_bytes(data[at : at + 8], "little")
        b = int.from_bytes(data[at + 8 : at + 16], "little")
        low = folded(low ^ a ^ 0xA0761D6478BD642F, b ^ 0xE7037ED1A0B428DB)
        high = folded(high ^ b ^ 0x8EBC6AF09C88C6E3, a ^ 0x589965CC75374CC3) + low & MASK
    return mix64(low ^ high)


def folded(a, b):
    product = a * b
    return (product ^ product >> 64) & MASK


def mix64(x):
    x = x + 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31
