/** Attributes as OTLP writes them, under the limits of OpenTelemetry's SDKs. */
import { Formatter } from "effect"
import type { Attributes } from "../spans.ts"
import { ProtobufWriter } from "./protobuf.ts"

export interface AttributeLimits {
  /** Attributes of a span or log record; more are dropped. */
  readonly count: number
  /** UTF-16 units of a text; the rest is cut. */
  readonly length: number
}

/** Fields of `KeyValue`, `AnyValue` and `ArrayValue`. */
const writeValue = (writer: ProtobufWriter, value: unknown, limits: AttributeLimits): void => {
  if (typeof value === "boolean") writer.integer(2, value ? 1 : 0)
  else if (typeof value === "number") {
    if (Number.isSafeInteger(value) && value >= 0) writer.integer(3, value)
    else if (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63) writer.int64(3, BigInt(value))
    else writer.double(4, value)
  } else if (Array.isArray(value)) {
    const list = writer.open(5)
    for (const item of value) {
      const inner = writer.open(1)
      writeValue(writer, item, limits)
      writer.close(inner)
    }
    writer.close(list)
  } else writeText(writer, typeof value === "string" ? value : Formatter.format(value), limits)
}

const writeText = (writer: ProtobufWriter, text: string, { length }: AttributeLimits) =>
  writer.string(1, text.length > length ? text.slice(0, length) : text)

/** What came of writing attributes. */
export interface Written {
  readonly count: number
  readonly dropped: number
}

/** Keys as they are written. */
const keys = new Map<string, Uint8Array>()
const scratch = new ProtobufWriter()

/** They come from our code, so there are few. */
const written = (key: string): Uint8Array => {
  let bytes = keys.get(key)
  if (bytes === undefined) {
    scratch.string(1, key)
    bytes = scratch.take()
    if (keys.size < 1000) keys.set(key, bytes)
  }
  return bytes
}

/** Writes attributes as a field of a message that has `before` of them already. What is undefined is left out. */
export const writeAttributes = (
  writer: ProtobufWriter,
  field: number,
  attributes: Attributes,
  limits: AttributeLimits,
  before = 0
): Written => {
  let count = before
  for (const key in attributes) {
    const value = attributes[key]
    if (value === undefined) continue
    if (++count > limits.count) continue
    const pair = writer.open(field)
    writer.fields(written(key))
    const inner = writer.open(2)
    writeValue(writer, value, limits)
    writer.close(inner)
    writer.close(pair)
  }
  return { count, dropped: Math.max(0, count - limits.count) }
}
