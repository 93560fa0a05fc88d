/** What the frames of a streamed reply say, as guards read it, and the same frames with other words (docs/guards.md#streams). */
import { Array as Arr } from "effect"
import type { GuardAction } from "../contract/Governance.ts"
import type { Fields, Place } from "../contract/places.ts"
import type { Frame, Frames } from "../stream/Frame.ts"
import { arrayOf, isObject, type Json, type JsonObject, numberOf, objectOf, textOf, without } from "../wire/json.ts"
import { readExactObject } from "../wire/parse.ts"
import { jsonText } from "../wire/print.ts"
import { textWithActions, withActions, withheld } from "./bodies.ts"
import { allFields, type GuardedSurface, type PlacedText, textsOf, withTexts } from "./places.ts"

/** What a frame does beside saying texts. Keys are those of texts that come in several frames. */
interface Marks {
  /** It begins a call, which is judged as a whole, until what ends its key. */
  readonly begins?: string | undefined
  /** What came before it under these keys is complete. */
  readonly ends?: ReadonlyArray<string>
  /** The reply is complete. */
  readonly last?: boolean
  /** It says again the text that came in pieces under this key. */
  readonly repeats?: string | undefined
  /** It signs the text of this key. */
  readonly signs?: string
  /** It says a piece, and may be cut in two. */
  readonly isDelta?: boolean
}

/** What a frame says; one without texts and marks says nothing of the model's. */
export interface Part extends Marks {
  /** Pieces, and texts that it says whole. */
  readonly texts: ReadonlyArray<PlacedText>
}

/** Reads the frames of one stream. It has state, made anew for each. */
export interface FrameReader {
  readonly read: (frame: Frame) => Part
  /** The frame with other texts in the places of those that were read of it. */
  readonly rewrite: (frame: Frame, texts: ReadonlyArray<string>) => Frame
  /** Called with every frame that goes out, in order; returns it as it does. */
  readonly emit: (frame: Frame) => Frame
  /** The frames that end a reply of which nothing more may pass. `usage`: what a final chunk says of tokens. */
  readonly withheld: (usage: object | undefined) => ReadonlyArray<Frame>
  /** The last frames, with what guards did. */
  readonly report: (frames: ReadonlyArray<Frame>, actions: ReadonlyArray<GuardAction>) => ReadonlyArray<Frame>
}

/** Where a frame says its texts. */
interface Found extends Marks {
  /** Where they are in `body`; none are read without. */
  readonly where?: Fields
  /** What holds them; by default the frame's fields. */
  readonly body?: JsonObject
  /** The frame's fields with another body. */
  readonly print?: (body: JsonObject) => JsonObject
  /** Objects whose own text is a piece, with its key. */
  readonly keys?: ReadonlyArray<readonly [holder: JsonObject, key: string]>
}

/** Fields of a text that goes on in other frames. */
const ownFields = [
  ...["text", "thinking", "refusal", "content", "delta"],
  ...["partial_json", "arguments", "input", "code", "command"]
]

const withData = (frame: Frame, fields: JsonObject): Frame => ({ ...frame, data: jsonText(fields) })

/** What waits is the part, without what was parsed. */
const readBy = (find: (frame: Frame, fields: JsonObject) => Found) => ({
  read: (frame: Frame): Part => {
    const fields = readExactObject(frame.data)
    if (fields === undefined) return { texts: [] }
    const { body = fields, keys = [], print: _, where = {}, ...marks } = find(frame, fields)
    const keyByHolder = new Map(keys)
    const texts = textsOf(where, body, (holder, text) =>
      ownFields.some((field) => holder[field] === text) ? keyByHolder.get(holder) : undefined
    )
    return { ...marks, texts }
  },
  rewrite: (frame: Frame, texts: ReadonlyArray<string>): Frame => {
    const fields = readExactObject(frame.data) ?? {}
    const { body = fields, print = (body) => body, where = {} } = find(frame, fields)
    return withData(frame, print(withTexts(where, body, texts)))
  }
})

const chatReader = (reply: Fields): FrameReader => {
  let heading: JsonObject = {}
  const find = (frame: Frame, fields: JsonObject): Found => {
    const { created = 0, id = "", model = "", object = "" } = fields
    heading = { id, object, created, model }
    const choice = objectOf(arrayOf(fields.choices)[0])
    if (typeof choice.finish_reason === "string") return { where: reply, last: true }
    const delta = objectOf(choice.delta)
    const call = objectOf(arrayOf(delta.tool_calls)[0])
    const called = objectOf(call.function)
    const key = `call ${numberOf(call.index) ?? 0}`
    const isBegin = typeof called.name === "string"
    return {
      where: { choices: "assistant" },
      keys: [
        [delta, delta.refusal === undefined ? "content" : "refusal"],
        [called, key]
      ],
      begins: isBegin ? key : undefined,
      // The end of a call has no frame of its own, and comes with the next one.
      ends: (frame.calls ?? []).flatMap((piece) => (piece.type === "end" ? [`call ${piece.key}`] : [])),
      isDelta: !isBegin
    }
  }
  return {
    ...readBy(find),
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
        frames[at + 1]?.data === "[DONE]" ? { ...frame, data: textWithActions(frame.data, actions) } : frame
      )
  }
}

const eventOf = (fields: JsonObject & { readonly type: string }): Frame => ({
  event: fields.type,
  data: JSON.stringify(fields)
})

const guardsEvent = (actions: ReadonlyArray<GuardAction>): Frame =>
  eventOf({ type: "gateway_guards", ...withActions({}, actions) })

const messagesReader = (): FrameReader => {
  /** Blocks that the caller has seen begin, and not end. */
  const open = new Set<number>()
  /** The beginning of the message, without its content, which the caller has not seen yet. */
  let begun: ReadonlyArray<Frame> = []
  let characters = 0
  const find = (frame: Frame, fields: JsonObject): Found => {
    const key = String(numberOf(fields.index) ?? -1)
    switch (frame.event) {
      case "message_start": {
        const body = objectOf(fields.message)
        const print = (message: JsonObject) => ({ ...fields, message })
        begun = [eventOf({ ...print({ ...body, content: [] }), type: "message_start" })]
        const keys = arrayOf(body.content).map((block, at) => [objectOf(block), String(at)] as const)
        return { where: { content: "assistant" }, body, print, keys }
      }
      case "content_block_start": {
        const block = objectOf(fields.content_block)
        const begins = /_use$/.test(textOf(block.type) ?? "") ? key : undefined
        return { where: { content_block: "assistant" }, keys: [[block, key]], begins }
      }
      case "content_block_delta": {
        const body = objectOf(fields.delta)
        if (body.type === "signature_delta") return { signs: key }
        const where = allFields(body, { thinking: "thinking", partial_json: "arguments" }, "assistant")
        return { where, body, print: (delta) => ({ ...fields, delta }), keys: [[body, key]], isDelta: true }
      }
      case "content_block_stop":
        return { where: allFields(fields, {}, "assistant"), ends: [key] }
      case "message_delta": {
        const body = objectOf(fields.delta)
        const where = allFields(without(body, ["stop_reason", "stop_sequence"]), {}, "assistant")
        return { where, body, print: (delta) => ({ ...fields, delta }) }
      }
      case "message_stop":
        return { last: true }
      default:
        return { where: allFields(fields, { x_gateway_governance: "arguments" }, "assistant") }
    }
  }
  const { read, rewrite } = readBy(find)
  return {
    read: (frame) => {
      const part = read(frame)
      for (const { text } of part.texts) characters += text.length
      return part
    },
    rewrite,
    emit: (frame) => {
      const index = () => numberOf(readExactObject(frame.data)?.index) ?? -1
      if (frame.event === "message_start") begun = []
      else if (frame.event === "content_block_start") open.add(index())
      else if (frame.event === "content_block_stop") open.delete(index())
      return frame
    },
    withheld: () => {
      const delta = { stop_reason: "refusal", stop_sequence: null }
      return [
        ...begun,
        ...[...open].map((index) => eventOf({ type: "content_block_stop", index })),
        eventOf({ type: "message_delta", delta, usage: { output_tokens: Math.ceil(characters / 4) } }),
        eventOf({ type: "message_stop" })
      ]
    },
    report: (frames, actions) => [...frames, guardsEvent(actions)]
  }
}

/** Fields of events of the responses format that say whole what a call says. */
const responsesFields: Fields = { arguments: "arguments", input: "arguments", command: "arguments", diff: "arguments" }

const placeOfEvent = (name: string): Place =>
  /arguments|_input\.|command|_diff\./.test(name) ? "arguments" : name.includes("reasoning") ? "thinking" : "assistant"

const responsesReader = (reply: Fields): FrameReader => {
  let begun: JsonObject = {}
  /** That of the last frame that went out. */
  let number: number | undefined
  /** By where the text is; the family of events where they do not say. */
  const keyOf = (name: string, fields: JsonObject): string => {
    const places = [fields.output_index, fields.content_index, fields.summary_index, fields.command_index]
    return places.map(numberOf).join(" ").trimEnd() || name.replace(/\.\w+$/, "")
  }
  const find = (frame: Frame, fields: JsonObject): Found => {
    const name = frame.event ?? ""
    if (isObject(fields.response)) {
      if (/^response\.(?:created|in_progress)$/.test(name)) begun = fields.response
      const last = /\.(?:completed|incomplete|failed)$/.test(name)
      return { where: reply, body: fields.response, print: (response) => ({ ...fields, response }), last }
    }
    const print = ({ obfuscation: _, ...others }: JsonObject) => others
    const where = allFields(print(fields), { ...responsesFields, delta: placeOfEvent(name) }, "assistant")
    const key = keyOf(name, fields)
    if (name.endsWith(".done")) {
      const isLeaf = fields.item === undefined && fields.part === undefined
      return { where, print, ends: [key], repeats: isLeaf ? key : undefined }
    }
    const isDelta = name.endsWith(".delta")
    if (!isDelta && !name.endsWith(".added")) return { where, print }
    const item = objectOf(fields.item)
    const within = (parts: Json | undefined, index: string) =>
      arrayOf(parts).map((part, at) => [objectOf(part), keyOf(name, { ...fields, [index]: at })] as const)
    return {
      ...{ where, print, isDelta, begins: /_call$/.test(textOf(item.type) ?? "") ? key : undefined },
      keys: [
        ...[fields, objectOf(fields.part), item].map((holder) => [holder, key] as const),
        ...within(item.content, "content_index"),
        ...within(item.summary, "summary_index")
      ]
    }
  }
  return {
    ...readBy(find),
    emit: (frame) => {
      const fields = readExactObject(frame.data)
      const own = numberOf(fields?.sequence_number)
      if (fields === undefined || own === undefined) return frame
      number = number === undefined ? own : number + 1
      return own === number ? frame : { ...frame, data: jsonText({ ...fields, sequence_number: number }) }
    },
    withheld: () => {
      const { body } = withheld("responses", begun)
      return [eventOf({ type: "response.incomplete", response: body, sequence_number: (number ?? -1) + 1 })]
    },
    report: (frames, actions) =>
      frames.map((frame, at) => {
        if (at < frames.length - 1) return frame
        const fields = readExactObject(frame.data) ?? {}
        return withData(frame, { ...fields, response: withActions(objectOf(fields.response), actions) })
      })
  }
}

/** The frames of an error that ends a stream, with what guards did. */
export const reportedError = (surface: GuardedSurface, frames: Frames, actions: ReadonlyArray<GuardAction>): Frames => {
  if (actions.length === 0) return frames
  const [before, last] = Arr.unappend(frames)
  return surface === "messages"
    ? Arr.append([...before, guardsEvent(actions)], last)
    : Arr.append(before, { ...last, data: textWithActions(last.data, actions) })
}

/** `reply`: where the texts of a whole reply are. */
export const frameReader = (surface: GuardedSurface, reply: Fields): FrameReader =>
  surface === "messages" ? messagesReader() : surface === "responses" ? responsesReader(reply) : chatReader(reply)
