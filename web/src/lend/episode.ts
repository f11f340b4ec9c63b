// The id of an episode, from the first bytes of its record (cpp/record/episode.h).

const MAGIC = [0x5a, 0x46, 0x45, 0x01];

/** Worker and sequence number. Throws where the bytes are no episode. */
export function episodeId(bytes: Uint8Array): [bigint, bigint] {
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) throw new Error("these bytes are no episode");
  let at = MAGIC.length;
  const number = (): number => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Error("the episode ends in its head");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const skipText = (): void => {
    const length = number();
    at += length;
  };
  skipText();
  for (let left = 2 * number(); left > 0; --left) skipText();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return [view.getBigUint64(at, true), view.getBigUint64(at + 8, true)];
}
