/** What the frames of a streamed reply say, as guards read it, and the same frames with other words (docs/guards.md#streams). */
import { Array as Arr } from "effect"
import type { GuardAction } from "../contract/Governance.ts"
import type { Fields, Place } from "../contract/places.ts"
import type { Frame, Frames } from "../stream/Frame.ts"
import { arrayOf, isObject, type JsonObject, numberOf, objectOf, textOf } from "../wire/json.ts"
import { readExactObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"
import { withActions, withheld } from "./bodies.ts"
import { type GuardedSurface, type PlacedText, structural, textsOf, withTexts } from "./places.ts"

/** A piece of a text that comes in several frames. */
export interface Delta {
  readonly key: string
  readonly place: Place
  readonly text: string
}

/** What a frame says; a frame of an empty part says nothing of the model's. */
export interface Part {
  readonly delta?: Delta
  /** Texts that it says whole. */
  readonly whole?: ReadonlyArray<PlacedText>
  /** It begins a call, which is judged as a whole. */
  readonly begins?: boolean
  /** What came before it is complete. */
  readonly ends?: boolean
  readonly last?: boolean
  /** It says again the text that came in pieces under this key. */
  readonly repeats?: string | undefined
  /** It signs the text of this key. */
  readonly signs?: string
}

/** Reads the frames of one stream. It has state, made anew for each. */
export interface FrameReader {
  readonly read: (frame: Frame) => Part
  /** The frame with other texts in the places of those that were read of it: of its piece, or of those that it says whole. */
  readonly rewrite: (frame: Frame, texts: ReadonlyArray<string>) => Frame
  /** Called with every frame that goes out, in order; returns it as it does. */
  readonly emit: (frame: Frame) => Frame
  /** The frames that end a reply of which nothing more may pass. `usage`: what a final chunk says of tokens. */
  readonly withheld: (usage: object | undefined) => ReadonlyArray<Frame>
  /** The last frames, with what guards did. */
  readonly report: (frames: ReadonlyArray<Frame>, actions: ReadonlyArray<GuardAction>) => ReadonlyArray<Frame>
}

/** What a frame says, and the same frame with other texts. What waits has only the first: the rest holds all that was parsed. */
interface Found extends Part {
  readonly with?: (texts: ReadonlyArray<string>) => Frame
}
type Find = (frame: Frame, fields: JsonObject) => Found

const nothing: Found = {}

const withData = (frame: Frame, fields: JsonObject): Frame => ({ ...frame, data: jsonText(fields) })

/** Reads by `find`; `notice` gets what was read. */
const readBy = (find: Find, notice: (fields: JsonObject, part: Part, event?: string) => void) => ({
  read: (frame: Frame): Part => {
    const fields = readExactObject(frame.data)
    if (fields === undefined) return nothing
    const { with: _, ...part } = find(frame, fields)
    notice(fields, part, frame.event)
    return part
  },
  rewrite: (frame: Frame, texts: ReadonlyArray<string>): Frame =>
    find(frame, readExactObject(frame.data) ?? {}).with?.(texts) ?? frame
})

/** A piece of a text. */
const pieceOf = (key: string, place: Place, text: string, print: (text: string) => Frame): Found => ({
  delta: { key, place, text },
  with: ([other = ""]) => print(other)
})

/** A part of the texts in these fields; nothing where there are none. `dataOf`: the frame's data with other fields. */
const wholeOf = (frame: Frame, fields: JsonObject, where: Fields, dataOf = (fields: JsonObject) => fields): Found => {
  const whole = textsOf(where, fields)
  const print = (others: ReadonlyArray<string>) => withData(frame, dataOf(withTexts(where, fields, others) ?? fields))
  return whole.length === 0 ? nothing : { whole, with: print }
}

/** Every field that may say a text, also of an event that is new: clients read those, too. */
const allFields = (fields: JsonObject, known: Fields): Fields => {
  const keys = Object.keys(fields).filter((key) => !structural.has(key) && key !== "obfuscation")
  return { ...Object.fromEntries(keys.map((key) => [key, "assistant"])), ...known }
}

const chatReader = (reply: Fields): FrameReader => {
  let heading: JsonObject = {}
  const find: Find = (frame, fields) => {
    const choice = objectOf(arrayOf(fields.choices)[0])
    const delta = objectOf(choice.delta)
    const changedFrame = (changed: JsonObject): Frame => {
      const logprobs = choice.logprobs === undefined ? {} : { logprobs: null }
      return withData(frame, { ...fields, choices: [{ ...choice, delta: { ...delta, ...changed }, ...logprobs }] })
    }
    if (typeof choice.finish_reason === "string") return { ...wholeOf(frame, fields, reply), ends: true, last: true }
    const call = objectOf(arrayOf(delta.tool_calls)[0])
    const { arguments: args, name } = objectOf(call.function)
    if (typeof name === "string") return { ...wholeOf(frame, fields, { choices: "assistant" }), begins: true }
    if (typeof args === "string") {
      return pieceOf(`call ${numberOf(call.index) ?? 0}`, "arguments", args, (text) =>
        changedFrame({ tool_calls: [{ ...call, function: { arguments: text } }] })
      )
    }
    const key = ["content", "refusal"].find((key) => typeof delta[key] === "string")
    if (key === undefined) return wholeOf(frame, fields, { choices: "assistant" })
    return pieceOf(key, "assistant", textOf(delta[key]) ?? "", (text) => changedFrame({ [key]: text }))
  }
  return {
    ...readBy(find, ({ created = 0, id = "", model = "", object = "" }) => {
      heading = { id, object, created, model }
    }),
    emit: (frame) => frame,
    withheld: (usage) => {
      const chunk = (choice: JsonObject, usage?: object): Frame => ({
        data: JSON.stringify({ ...heading, choices: [{ index: 0, ...choice }], usage })
      })
      // Where nothing was said, the message has a text anyway, and can be given back.
      return [
        chunk({ delta: { content: "" }, finish_reason: null }),
        chunk({ delta: {}, finish_reason: "content_filter" }, usage),
        { data: "[DONE]" }
      ]
    },
    report: (frames, actions) =>
      frames.map((frame, at) =>
        frames[at + 1]?.data === "[DONE]" ? { ...frame, data: String(withActions(frame.data, actions)) } : frame
      )
  }
}

const eventOf = (fields: JsonObject & { readonly type: string }): Frame => ({
  event: fields.type,
  data: JSON.stringify(fields)
})

const guardsEvent = (actions: ReadonlyArray<GuardAction>): Frame =>
  eventOf({ type: "gateway_guards", ...objectOf(withActions({}, actions)) })

const messagesReader = (): FrameReader => {
  /** Blocks that the caller has seen begin, and not end. */
  const open = new Set<number>()
  let characters = 0
  const findDelta: Find = (frame, fields) => {
    const delta = objectOf(fields.delta)
    const key = String(numberOf(fields.index) ?? -1)
    if (delta.type === "signature_delta") return { signs: key }
    for (const [field, place] of pieces) {
      const text = textOf(delta[field])
      if (text === undefined) continue
      return pieceOf(key, place, text, (other) => withData(frame, { ...fields, delta: { ...delta, [field]: other } }))
    }
    return wholeOf(frame, fields, { delta: "assistant" })
  }
  const find: Find = (frame, fields) => {
    switch (frame.event) {
      case "content_block_delta":
        return findDelta(frame, fields)
      case "content_block_start": {
        const begins = /_use$/.test(textOf(objectOf(fields.content_block).type) ?? "")
        return { ...wholeOf(frame, fields, { content_block: "assistant" }), begins }
      }
      case "content_block_stop":
      case "message_delta":
        return { ends: true }
      case "message_stop":
        return { ends: true, last: true }
      case "message_start":
        return wholeOf(frame, fields, { message: "assistant" })
      default:
        return wholeOf(frame, fields, allFields(fields, { x_gateway_governance: "arguments" }))
    }
  }
  return {
    ...readBy(find, (_, { delta }) => {
      characters += delta?.text.length ?? 0
    }),
    emit: (frame) => {
      const index = () => numberOf(objectOf(readExactObject(frame.data)).index) ?? -1
      if (frame.event === "content_block_start") open.add(index())
      else if (frame.event === "content_block_stop") open.delete(index())
      return frame
    },
    withheld: () => [
      ...[...open].map((index) => eventOf({ type: "content_block_stop", index })),
      eventOf({
        type: "message_delta",
        delta: { stop_reason: "refusal", stop_sequence: null },
        usage: { output_tokens: Math.ceil(characters / 4) }
      }),
      eventOf({ type: "message_stop" })
    ],
    report: (frames, actions) => [...frames, guardsEvent(actions)]
  }
}

const pieces: ReadonlyArray<readonly [string, Place]> = [
  ["text", "assistant"],
  ["thinking", "thinking"],
  ["partial_json", "arguments"]
]

/** Fields of events of the responses format that say whole what a call says. */
const responsesFields: Fields = { arguments: "arguments", input: "arguments", command: "arguments", diff: "arguments" }

const placeOfEvent = (name: string): Place =>
  /arguments|_input\.|command|_diff\./.test(name) ? "arguments" : name.includes("reasoning") ? "thinking" : "assistant"

const responsesReader = (reply: Fields): FrameReader => {
  let begun: JsonObject = {}
  /** How many more frames went out than came, and the number of the last one. */
  let came = 0
  let number = -1
  const keyOf = (name: string, fields: JsonObject): string => {
    const places = [fields.output_index, fields.content_index, fields.summary_index, fields.command_index]
    return [name.replace(/\.\w+$/, ""), ...places.map(numberOf)].join(" ")
  }
  const find: Find = (frame, fields) => {
    const name = frame.event ?? ""
    if (isObject(fields.response)) {
      const whole = wholeOf(frame, fields.response, reply, (response) => ({ ...fields, response }))
      const last = /\.(?:completed|incomplete|failed)$/.test(name)
      return { ...whole, ends: last, last }
    }
    const { delta } = fields
    if (name.endsWith(".delta") && typeof delta === "string") {
      const { logprobs, obfuscation: _, ...rest } = fields
      const unlikely = logprobs === undefined ? {} : { logprobs: [] }
      return pieceOf(keyOf(name, fields), placeOfEvent(name), delta, (text) =>
        withData(frame, { ...rest, delta: text, ...unlikely })
      )
    }
    const part = wholeOf(frame, fields, allFields(fields, responsesFields))
    const isLeaf = fields.item === undefined && fields.part === undefined
    if (name.endsWith(".done")) return { ...part, ends: true, repeats: isLeaf ? keyOf(name, fields) : undefined }
    const begins = /_call$/.test(textOf(objectOf(fields.item).type) ?? "") || fields.command !== undefined
    return { ...part, begins }
  }
  return {
    ...readBy(find, ({ response }, _, event = "") => {
      if (/^response\.(?:created|in_progress)$/.test(event) && isObject(response)) begun = response
    }),
    emit: (frame) => {
      const fields = readExactObject(frame.data)
      const own = numberOf(fields?.sequence_number)
      if (fields === undefined || own === undefined) return frame
      number = came === 0 ? own : number + 1
      came++
      return own === number ? frame : { ...frame, data: jsonText({ ...fields, sequence_number: number }) }
    },
    withheld: () => [
      eventOf({
        type: "response.incomplete",
        response: withheld("responses", begun).body,
        sequence_number: number + 1
      })
    ],
    report: (frames, actions) =>
      frames.map((frame, at) => {
        const fields = at === frames.length - 1 ? readExactObject(frame.data) : undefined
        return fields === undefined
          ? frame
          : withData(frame, { ...fields, response: objectOf(withActions(objectOf(fields.response), actions)) })
      })
  }
}

/** The frames of an error that ends a stream, with what guards did. */
export const reportedError = (surface: GuardedSurface, frames: Frames, actions: ReadonlyArray<GuardAction>): Frames => {
  if (actions.length === 0) return frames
  const [before, last] = Arr.unappend(frames)
  return surface === "messages"
    ? Arr.append([...before, guardsEvent(actions)], last)
    : Arr.append(before, { ...last, data: String(withActions(last.data, actions)) })
}

/** `reply`: where the texts of a whole reply are. */
export const frameReader = (surface: GuardedSurface, reply: Fields): FrameReader =>
  surface === "messages" ? messagesReader() : surface === "responses" ? responsesReader(reply) : chatReader(reply)
