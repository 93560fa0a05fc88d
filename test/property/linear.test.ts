/** Nothing that a body holds many of may cost more than linear, or hold up other requests (docs/api.md#limits). */
import { describe, expect, it } from "@effect/vitest"
import { superlinear } from "../support/growth.ts"
import { type Place, placesAt } from "../support/places.ts"
import { endpoints } from "../support/served.ts"

const many = <A>(count: number, make: (at: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, at) => make(at))
const named = <A>(count: number, make: (at: number) => A) =>
  Object.fromEntries(many(count, (at) => [`k${at}`, make(at)]))
const user = (content: unknown) => ({ role: "user", content })
const nested = (depth: number, around: (inner: object) => object, inner: object): object =>
  depth === 0 ? inner : nested(depth - 1, around, around(inner))

/** Schemas that hold many of something. */
const schemas: Readonly<Record<string, (count: number) => object>> = {
  properties: (count) => ({
    properties: named(count, () => ({ type: "string" })),
    required: many(count, (at) => `k${at}`)
  }),
  "an enumeration": (count) => ({ properties: { a: { enum: many(count, (at) => `v${at}`) } } }),
  alternatives: (count) => ({ properties: { a: { anyOf: many(count, () => ({ type: "string" })) } } }),
  parts: (count) => ({ allOf: many(count, (at) => ({ properties: { [`k${at}`]: {} }, required: [`k${at}`] })) }),
  "parts in parts": (count) => nested(60, (inner) => ({ allOf: [inner] }), { properties: named(count, () => ({})) }),
  "a chain of definitions": (count) => ({ $defs: named(count, (at) => ({ $ref: `#/$defs/k${at + 1}` })) }),
  "a chain of definitions, the last first": (count) => ({
    $defs: named(count, (at) => ({ $ref: `#/$defs/k${at - 1}` }))
  }),
  "references to one definition": (count) => ({
    $defs: { k0: { anyOf: many(count, (at) => ({ $ref: `#/$defs/k${at + 1}` })) }, ...named(count, () => ({})) }
  }),
  "branches with one part": (count) => ({
    anyOf: many(count, () => ({ allOf: [{ $ref: "#/$defs/part" }] })),
    $defs: { part: { required: many(count, (at) => `k${at}`) } }
  }),
  "a tuple": (count) => ({ properties: { a: { items: many(count, () => ({ type: "array" })) } } }),
  "unknown keywords": (count) => named(count, () => 1)
}
const closed = (schema: object) => ({ type: "object", additionalProperties: false, ...schema })

/** Texts of nothing but one thing, at which a search may begin anew in each place. */
const fillers = [
  " ",
  "\n",
  " \n",
  "\\",
  '"',
  "{",
  "[",
  "-",
  "1",
  "1.",
  ",1",
  "`",
  "<",
  "=",
  "/",
  ".",
  "é",
  "]",
  "\u200b"
]

const withSchemas = (name: string, around: (schema: object) => object): ReadonlyArray<Place> =>
  Object.entries(schemas).map(([kind, make]) => ({
    name: `${name} with ${kind}`,
    body: (count) => around(closed(make(count)))
  }))
const withTexts = (name: string, around: (text: string) => object): ReadonlyArray<Place> =>
  fillers.map((filler) => ({
    name: `${name} of ${JSON.stringify(filler)}`,
    body: (count) => around(filler.repeat(8 * count))
  }))

const hi = [user("hi")]
const called = (id: string, args: string) => ({ id, type: "function", function: { name: "f", arguments: args } })
const result = (id: string, content: string) => ({ role: "tool", tool_call_id: id, content })
const loop = (args: string, content: string) => [
  ...hi,
  { role: "assistant", content: null, tool_calls: [called("a", args)] },
  result("a", content)
]
const text = { type: "text", text: "x" }

/** What the document does not say of the places that it leaves open. */
const more: Readonly<Record<string, ReadonlyArray<Place>>> = {
  "/v1/chat/completions": [
    ...withSchemas("a tool", (parameters) => ({
      messages: hi,
      tools: [{ type: "function", function: { name: "f", parameters, strict: true } }]
    })),
    ...withSchemas("a format", (schema) => ({
      messages: hi,
      response_format: { type: "json_schema", json_schema: { name: "f", schema } }
    })),
    {
      name: "turns of one call each",
      body: (count) => ({
        messages: many(Math.min(1000, count / 8), (at) => [
          { role: "assistant", content: null, tool_calls: [called(`c${at}`, "{}")] },
          result(`c${at}`, "{}")
        ]).flat()
      })
    },
    {
      name: "turns of many calls",
      body: (count) => ({
        messages: many(Math.min(15, count / 400), () => [
          { role: "assistant", content: null, tool_calls: many(120, (at) => called(`c${at}`, '{"a":1}')) },
          ...many(120, (at) => result(`c${119 - at}`, '{"a":1}'))
        ]).flat()
      })
    },
    { name: "arguments", body: (count) => ({ messages: loop(JSON.stringify(named(count, () => 1)), "{}") }) },
    { name: "a result", body: (count) => ({ messages: loop("{}", JSON.stringify(named(count, () => 1))) }) },
    {
      name: "blocks of thinking",
      body: (count) => ({
        messages: [
          ...hi,
          {
            role: "assistant",
            content: "x",
            extra_content: {
              anthropic: { thinking_blocks: many(count, () => ({ type: "thinking", thinking: "x", signature: "y" })) }
            }
          }
        ]
      })
    },
    ...["x", "x".repeat(1000)].map((content) => ({
      name: `places of ${content.length} characters`,
      body: (count: number) => ({
        messages: [
          ...hi,
          {
            role: "assistant",
            content,
            extra_content: {
              anthropic: {
                thinking_blocks: many(count, () => ({ type: "thinking", thinking: "x", signature: "y" })),
                order: many(count, (at) => [
                  { type: "thinking" },
                  { type: "text", length: at === 0 ? content.length : 0 },
                  { type: "tool_use", id: "x" }
                ]).flat()
              }
            }
          }
        ]
      })
    })),
    { name: "stop sequences", body: (count) => ({ messages: hi, stop: many(count, (at) => `s${at}`) }) },
    ...withTexts("a system text", (content) => ({ messages: [{ role: "system", content }, ...hi] })),
    ...withTexts("a text", (content) => ({ messages: [user(content)] })),
    ...withTexts("an answer", (content) => ({ messages: [...hi, { role: "assistant", content }] })),
    ...withTexts("a result", (content) => ({ messages: loop("{}", content) })),
    ...withTexts("arguments", (args) => ({ messages: loop(args, "x") })),
    ...withTexts("an image", (url) => ({ messages: [user([{ type: "image_url", image_url: { url } }])] })),
    ...withTexts("an image's data", (data) => ({
      messages: [user([{ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }])]
    })),
    ...withTexts("a file's name", (filename) => ({
      messages: [user([{ type: "file", file: { filename, file_data: "data:application/pdf;base64,JVBERi0xLjcK" } }])]
    })),
    ...withTexts("a function's name", (name) => ({
      messages: [
        ...hi,
        { role: "assistant", content: null, tool_calls: [{ id: "a", function: { name, arguments: "{}" } }] },
        result("a", "x")
      ]
    })),
    ...withTexts("a stop sequence", (stop) => ({ messages: hi, stop }))
  ],
  "/v1/messages": [
    ...withSchemas("a tool", (input_schema) => ({ messages: hi, tools: [{ name: "f", input_schema, strict: true }] })),
    ...withSchemas("a format", (schema) => ({
      messages: hi,
      output_config: { format: { type: "json_schema", schema } }
    })),
    {
      name: "system messages with fields of their own",
      body: (count) => ({
        messages: [...hi, ...many(count, (at) => ({ role: "system", content: "y", [`k${at}`]: 1 }))]
      })
    },
    {
      name: "system messages between turns",
      body: (count) => ({
        messages: many(count / 6, () => [
          ...hi,
          { role: "system", content: "y" },
          { role: "assistant", content: [text] }
        ]).flat()
      })
    },
    {
      name: "fields that are removed",
      body: (count) => ({
        messages: [user(many(count, () => ({ ...text, cache_control: { type: "ephemeral", scope: null } })))]
      })
    },
    { name: "betas", body: (count) => ({ messages: hi, anthropic_beta: many(count, (at) => `b${at}`) }) },
    {
      name: "tools of the cloud",
      body: (count) => ({ messages: hi, tools: many(count, (at) => ({ type: `web_${at}`, name: "x" })) })
    },
    ...withTexts("a text", (content) => ({ messages: [user(content)] })),
    ...withTexts("a source", (data) => ({
      messages: [user([{ type: "image", source: { type: "base64", media_type: "image/png", data } }])]
    })),
    ...withTexts("a type", (type) => ({ messages: hi, tools: [{ type, name: "x" }] }))
  ],
  "/v1/responses": [
    ...withSchemas("a tool", (parameters) => ({ input: "hi", tools: [{ type: "function", name: "f", parameters }] })),
    ...withSchemas("a format", (schema) => ({
      input: "hi",
      text: { format: { type: "json_schema", name: "f", schema } }
    })),
    {
      name: "tools with fields of their own",
      body: (count) => ({
        input: "hi",
        tools: many(count, (at) => ({ type: "function", name: `f${at}`, [`k${at}`]: 1 }))
      })
    },
    {
      name: "tools of the cloud in a namespace",
      body: (count) => ({
        input: "hi",
        tools: [{ type: "namespace", name: "n", tools: many(count, () => ({ type: "mcp" })) }]
      })
    },
    {
      name: "items that bring tools",
      body: (count) => ({
        input: many(count, (at) => ({ type: "additional_tools", tools: [{ type: "function", name: `f${at}` }] }))
      })
    },
    {
      name: "reasoning between messages",
      body: (count) => ({
        input: many(count, (at) =>
          at % 2 === 0 ? { ...user("x"), id: `i${at}` } : { type: "reasoning", id: `i${at}` }
        )
      })
    },
    ...withTexts("a text", (input) => ({ input })),
    ...withTexts("arguments", (args) => ({
      input: [{ type: "function_call", call_id: "a", name: "f", arguments: args }]
    })),
    ...withTexts("a type", (type) => ({ input: "hi", tools: [{ type }] }))
  ],
  "/v1/embeddings": [...withTexts("a text", (input) => ({ input }))]
}

/** Commas and colons of the larger body, about. */
const values = 8_000

const valuesOf = (body: unknown): number => JSON.stringify(body).match(/[,:]/g)?.length ?? 0

/** How many of them the smaller body holds. */
const countFor = ({ body }: Place): number => {
  const each = (valuesOf(body(64)) - valuesOf(body(32))) / 32
  return Math.floor(values / 4 / Math.max(1, each))
}

const model = { model: "any:il5", max_tokens: 5000 }

describe("four times as many take no more than linear time", () => {
  for (const [path, serve] of Object.entries(endpoints)) {
    it(path, { timeout: 240_000 }, async () => {
      const own = more[path] ?? []
      const wrong: Array<string> = []
      for (const place of [...placesAt(path), ...own]) {
        const problems = await superlinear((count) => {
          const bytes = Buffer.from(JSON.stringify({ ...model, ...Object(place.body(count)) }))
          return async (step, turns) => void (await serve(bytes, step, turns))
        }, countFor(place))
        wrong.push(...problems.map((problem) => `${place.name}: ${problem}`))
        // What is wrong is so in many places, and takes long in each.
        if (wrong.length > 0) break
      }
      expect(wrong).toEqual([])
    })
  }
})
