/** Content blocks of the messages format, as callers send them (docs/api.md#messages). Images and documents come inline. */
import { Schema } from "effect"
import { described, either, flag, jsonObject, named, nullable, object, options, string } from "./fields.ts"
import { kind, kinds, oneOf } from "./kinds.ts"

const CacheControl = kinds([
  kind("ephemeral", { ttl: nullable(oneOf("5m", "1h"), "How long it is kept.", "1h", { default: "5m" }) })
]).annotate(named("CacheControl", "The prompt up to here may be kept in the cloud's cache."))
/** May stand at every block and tool. */
export const cached = {
  cache_control: nullable(CacheControl, "The prompt up to here may be reused.", { type: "ephemeral" })
}
const citations = {
  citations: nullable(options({ enabled: flag("Whether they are on.") }), "Whether the reply may cite this.", {
    enabled: true
  })
}

const TextBlockParam = kind("text", { text: string("The text.", "What is FedRAMP High?"), ...cached }).annotate(
  named("TextBlockParam", "A text.")
)

/** The kinds of a source; URLs and stored files are none. `how`: the media types, or what to send instead. */
const inline = <const M extends ReadonlyArray<Schema.Top>>(members: M, how: string, description: string) =>
  Schema.Union(members).annotate({
    description,
    message: `must hold the data inline, as {"type":"base64","media_type":…,"data":…} with media_type ${how}; URL sources and stored files are not accepted`
  })

const ImageBlock = kind("image", {
  source: inline(
    [
      kind("base64", {
        media_type: described(
          Schema.Literals(["image/jpeg", "image/png", "image/gif", "image/webp"]),
          "What the bytes are.",
          "image/png"
        ),
        data: string("The bytes in base64.", "iVBORw0KGgo=")
      })
    ],
    "image/jpeg, image/png, image/gif or image/webp",
    "The image itself."
  ),
  ...cached
}).annotate(named("ImageBlock", "An image, inline. URLs and stored files are refused."))

const searchResult = kind("search_result", {
  source: string("Where it was found: a text that the model may cite.", "handbook, page 12"),
  title: string("Its title.", "Baselines"),
  content: described(Schema.Array(TextBlockParam), "What was found."),
  ...citations,
  ...cached
}).annotate(named("SearchResultBlock", "A search result of the caller's, which the model may cite."))

const plainSource = kind("text", {
  media_type: described(Schema.Literal("text/plain"), "What the data is.", "text/plain"),
  data: string("The text.", "Chapter one")
})
const pdfSource = kind("base64", {
  media_type: described(Schema.Literal("application/pdf"), "What the bytes are.", "application/pdf"),
  data: string("The bytes in base64.", "JVBERi0xLjcK")
})
const blocksSource = kind("content", {
  content: described(
    either(Schema.String, Schema.Array(kinds([TextBlockParam, ImageBlock]))),
    "A text, or blocks of text and images.",
    "Chapter one"
  )
})
const DocumentBlock = kind("document", {
  source: inline(
    [pdfSource, plainSource, blocksSource],
    "application/pdf, or as a source of type text or content",
    "The document itself."
  ),
  title: nullable(Schema.String, "The document's title.", "Report"),
  context: nullable(Schema.String, "What the model should know about the document.", "Draft of May"),
  ...citations,
  ...cached
}).annotate(named("DocumentBlock", "A PDF or a text, inline. URLs and stored files are refused."))

const toolUse = kind("tool_use", {
  id: string("The call's ID, which the `tool_result` names.", "toolu_01"),
  name: string("The tool's name.", "get_weather"),
  input: jsonObject({ description: "The arguments.", examples: [{ city: "Denver" }] }),
  ...cached
}).annotate(named("ToolUseBlockParam", "A tool call of an earlier reply."))

const resultContent = kinds([TextBlockParam, ImageBlock, DocumentBlock, searchResult])
const toolResult = kind("tool_result", {
  tool_use_id: string("The `id` of the call that this answers.", "toolu_01"),
  content: nullable(either(Schema.String, Schema.Array(resultContent)), "What the tool answered.", "21 °C"),
  is_error: flag("Whether the tool failed."),
  ...cached
}).annotate(named("ToolResultBlock", "What a tool answered; in the user's message after the call."))

export const thinkingBlock = kind("thinking", {
  thinking: string("What the model thought.", "Three baselines exist…"),
  signature: string("The vendor's signature of the thinking; return it unchanged.", "EqQBCgIYAhIM")
}).annotate(named("ThinkingBlock", "What the model thought."))
export const redactedThinkingBlock = kind("redacted_thinking", {
  data: string("Encrypted; return it unchanged.", "EmwKAhgBEgy")
}).annotate(named("RedactedThinkingBlock", "Thinking that the vendor does not show."))

const blocks = [
  TextBlockParam,
  ImageBlock,
  DocumentBlock,
  searchResult,
  toolUse,
  toolResult,
  thinkingBlock,
  redactedThinkingBlock
] as const
const ContentBlockParam = kinds(blocks).annotate(named("ContentBlockParam", "A block of a message."))
/** Instructions have no other block of messages. */
export const systemBlock = kinds([TextBlockParam], blocks)

export const MessageParam = object({
  role: described(Schema.Literals(["user", "assistant", "system"]), "Who speaks.", "user"),
  content: either(Schema.String, Schema.Array(ContentBlockParam)).annotate({
    description: "A text, or blocks.",
    examples: ["What is FedRAMP High?"]
  })
}).annotate(named("MessageParam", "A message of the conversation."))
