/** Inputs that are almost right: bytes and JSON values with something cut, doubled, moved or put in. */
import fc from "fast-check"

/** One change of some bytes; places are shares of the length. */
const change = fc.oneof(
  fc.record({ kind: fc.constant("cut" as const), at: fc.nat(10_000) }),
  fc.record({ kind: fc.constant("drop" as const), at: fc.nat(10_000), length: fc.integer({ min: 1, max: 64 }) }),
  fc.record({ kind: fc.constant("double" as const), at: fc.nat(10_000), length: fc.integer({ min: 1, max: 400 }) }),
  fc.record({ kind: fc.constant("put" as const), at: fc.nat(10_000), bytes: fc.uint8Array({ maxLength: 24 }) }),
  fc.record({ kind: fc.constant("flip" as const), at: fc.nat(10_000), bit: fc.nat(7) }),
  fc.record({
    kind: fc.constant("text" as const),
    at: fc.nat(10_000),
    text: fc.constantFrom(
      ...[
        "\r\n\r\n",
        "\n\n",
        "\u0000",
        "data: ",
        "event: error\n",
        "data: [DONE]\n\n",
        "event: message_stop\ndata: {}\n\n"
      ],
      ...[
        "{",
        "}",
        "[",
        '"',
        "\\",
        "\\ud800",
        "e9999",
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 5\r\n",
        ": \n"
      ]
    )
  })
)
export type Change = typeof change extends fc.Arbitrary<infer A> ? A : never

export const changes = (most: number) => fc.array(change, { maxLength: most })

const changed = (bytes: Buffer, one: Change): Buffer => {
  const at = Math.floor((one.at / 10_000) * bytes.length)
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (one.kind) {
    case "cut":
      return before
    case "drop":
      return Buffer.concat([before, after.subarray(one.length)])
    case "double":
      return Buffer.concat([before, after.subarray(0, one.length), after])
    case "put":
      return Buffer.concat([before, one.bytes, after])
    case "text":
      return Buffer.concat([before, Buffer.from(one.text), after])
    case "flip": {
      const copy = Buffer.from(bytes)
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << one.bit)
      return copy
    }
  }
}

export const mutated = (bytes: Buffer, all: ReadonlyArray<Change>): Buffer => all.reduce(changed, bytes)

/** Values that have broken a gateway before, and any others. */
const odd: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, "", " ", "\ud800", "‮", "__proto__"],
    ...["https://\tevil.example", "data:image/png;base64,AAAA", "file:///etc/passwd", "x".repeat(400)],
    ...[[], {}, [[]], [null], { type: "text" }, { type: "image_url", image_url: { url: "https://e.example/x" } }],
    ...[{ $ref: "#" }, { type: "object", properties: { url: { type: "string" } } }, { role: "robot", content: 5 }]
  ),
  fc.jsonValue({ maxDepth: 3 })
)

interface Edit {
  readonly at: number
  readonly kind: "replace" | "delete" | "rename" | "add" | "double" | "nest"
  readonly value: unknown
  readonly name: string
}

export const edits = (most: number): fc.Arbitrary<ReadonlyArray<Edit>> =>
  fc.array(
    fc.record({
      at: fc.nat(10_000),
      kind: fc.constantFrom("replace", "delete", "rename", "add", "double", "nest"),
      value: odd,
      name: fc.oneof(
        fc.constantFrom(
          ...["type", "role", "content", "model", "stream", "tools", "tool_choice", "input", "messages", "__proto__"],
          ...["system", "thinking", "max_tokens", "source", "url", "constructor", "arguments", "dimensions"]
        ),
        fc.string({ maxLength: 8 })
      )
    }),
    { minLength: 1, maxLength: most }
  )

type Container = Record<string, unknown> | Array<unknown>
interface Place {
  readonly holder: Container
  readonly key: string
}

const placesIn = (root: unknown): ReadonlyArray<Place> => {
  const places: Array<Place> = []
  const walk = (value: unknown) => {
    if (typeof value !== "object" || value === null) return
    for (const key of Object.keys(value)) {
      places.push({ holder: value as Container, key })
      walk(Reflect.get(value, key))
    }
  }
  walk(root)
  return places
}

/** A copy of a JSON value with these edits. */
export const edited = (value: unknown, all: ReadonlyArray<Edit>): unknown => {
  const copy = structuredClone(value)
  for (const { at, kind, name, value: other } of all) {
    const places = placesIn(copy)
    const place = places[Math.floor((at / 10_001) * places.length)]
    if (place === undefined) return other
    const { holder, key } = place
    const now = Reflect.get(holder, key)
    if (kind === "replace") Reflect.set(holder, key, structuredClone(other))
    else if (kind === "nest") Reflect.set(holder, key, [now])
    else if (kind === "double" && Array.isArray(holder)) holder.push(structuredClone(now))
    else if (kind === "delete" && !Array.isArray(holder)) delete holder[key]
    else if (!Array.isArray(holder)) {
      if (kind === "rename") delete holder[key]
      Object.defineProperty(holder, name, {
        value: kind === "add" ? structuredClone(other) : now,
        enumerable: true,
        configurable: true,
        writable: true
      })
    }
  }
  return copy
}
