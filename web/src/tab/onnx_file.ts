// Shipped weights as one ONNX file: a graph whose initialisers lie elsewhere, and the safetensors file that has them.
//
// An ONNX file is a protobuf: ModelProto.graph is field 7, GraphProto.initializer field 5, and of a TensorProto 8 is
// its name, 2 its data type, 9 the raw data, 13 and 14 where data lie that are elsewhere. All else is copied.

const GRAPH = 7;
const INITIALIZER = 5;
const NAME = 8;
const DATA_TYPE = 2;
const RAW_DATA = 9;
const EXTERNAL_DATA = 13;
const DATA_LOCATION = 14;
/** Data types of ONNX as safetensors names them. */
const TYPES: Readonly<Record<number, string>> = { 1: "F32", 6: "I32", 7: "I64", 9: "BOOL", 10: "F16", 11: "F64" };

interface Field {
  number: number;
  /** Tag and all. */
  bytes: Uint8Array;
  /** Of a field with a length, what is in it. */
  content: Uint8Array;
  /** Of a varint. */
  value: number;
}

interface Tensor {
  dtype: string;
  data: Uint8Array;
}

export function withWeights(graph: Uint8Array, safetensors: Uint8Array): Uint8Array {
  const tensors = readSafetensors(safetensors);
  return rewritten(graph, GRAPH, (inner) =>
    rewritten(inner, INITIALIZER, (tensor) => {
      const fields = [...fieldsOf(tensor)];
      if (!fields.some(({ number }) => number === DATA_LOCATION)) return tensor;
      const name = new TextDecoder().decode(fields.find(({ number }) => number === NAME)?.content);
      const type = TYPES[fields.find(({ number }) => number === DATA_TYPE)?.value ?? 0];
      const found = tensors.get(name);
      if (found === undefined) throw new Error(`the weights lack ${name}`);
      if (found.dtype !== type) throw new Error(`the weights have ${name} as ${found.dtype}, not ${type}`);
      const kept = fields.filter(({ number }) => number !== EXTERNAL_DATA && number !== DATA_LOCATION);
      return joined([...kept.map(({ bytes }) => bytes), withLength(RAW_DATA, found.data)]);
    }),
  );
}

/** A message whose fields of one number are changed. */
function rewritten(message: Uint8Array, number: number, change: (content: Uint8Array) => Uint8Array): Uint8Array {
  return joined(
    [...fieldsOf(message)].map((field) =>
      field.number === number ? withLength(number, change(field.content)) : field.bytes,
    ),
  );
}

function* fieldsOf(message: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    for (let value = 0, scale = 1; ; scale *= 128) {
      const byte = message[at++];
      if (byte === undefined) throw new Error("the graph ends in the middle");
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const start = at;
    const tag = varint();
    let value = 0;
    let content = message.subarray(at, at);
    if (tag % 8 === 0) value = varint();
    else if (tag % 8 === 1) at += 8;
    else if (tag % 8 === 5) at += 4;
    else if (tag % 8 === 2) {
      const length = varint();
      content = message.subarray(at, at + length);
      at += length;
    } else throw new Error("the graph has a field of an unknown kind");
    yield { number: Math.floor(tag / 8), bytes: message.subarray(start, at), content, value };
  }
}

function withLength(number: number, content: Uint8Array): Uint8Array {
  return joined([varintOf(8 * number + 2), varintOf(content.length), content]);
}

function varintOf(value: number): Uint8Array {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Uint8Array.of(...bytes, value);
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A header of JSON behind its length, then the data. */
function readSafetensors(bytes: Uint8Array): Map<string, Tensor> {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const start = 8 + length;
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start))) as Record<
    string,
    { dtype: string; data_offsets: [number, number] }
  >;
  const named = Object.entries(header).filter(([name]) => name !== "__metadata__");
  return new Map(
    named.map(
      ([
        name,
        {
          dtype,
          data_offsets: [from, to],
        },
      ]) => [name, { dtype, data: bytes.subarray(start + from, start + to) }],
    ),
  );
}
