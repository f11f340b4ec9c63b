// Messages as bytes and back: MessagePack maps, one per frame of the WebSocket.
import { decode, encode } from "@msgpack/msgpack";
import type { FromGateway, FromTab, Whole } from "./wire";

export * from "./wire";

/** Whole numbers beyond 32 bits must be bigint, else they would travel as floats. */
export function encodeMessage(message: FromTab): Uint8Array<ArrayBuffer> {
  return encode(message, { useBigInt64: true, ignoreUndefined: true });
}

/** Throws where the bytes are no map with a type. What the types promise is the gateway's to keep. */
export function decodeMessage(bytes: ArrayBuffer): FromGateway {
  const message: unknown = decode(bytes, { useBigInt64: true });
  if (typeof message !== "object" || message === null || !("type" in message))
    throw new Error("a message of the gateway has no type");
  return message as FromGateway;
}

/** A count as the wire wants it. */
export function whole(value: number): Whole {
  const rounded = Math.round(value);
  return rounded < 2 ** 32 ? rounded : BigInt(rounded);
}

/** An episode's id as one text, to be compared and stored. */
export function idText(worker: Whole, sequence: Whole): string {
  return `${worker}:${sequence}`;
}
