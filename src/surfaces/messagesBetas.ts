/**
 * Betas of a messages request: which are sent, and what is left out of the body because its beta is not (docs/api.md#betas). Fields are
 * left out by the deployment's `strip`, without those of the betas that are sent; tools and blocks are left out here.
 */
import type { Beta } from "../catalog/Catalog.ts"
import type { Route } from "../catalog/Route.ts"
import type { Adjusted } from "../vendors/adjustments.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { withoutPath } from "../wire/strip.ts"

const isOf = ({ aliases = [], name }: Beta, beta: string): boolean => beta.startsWith(name) || aliases.includes(beta)

/** Betas of the body, a list or a text with commas, and of the header; each once. */
const betasGiven = (given: Json | undefined, header: string | undefined): ReadonlySet<string> => {
  const texts = [given ?? [], header ?? []].flat().filter((text) => typeof text === "string")
  const betas = new Set(texts.flatMap((text) => text.split(",")).map((beta) => beta.trim()))
  betas.delete("")
  return betas
}

const blocksOf = (holder: Json): ReadonlyArray<Json> => arrayOf(objectOf(holder).content)

const areSame = (before: ReadonlyArray<Json>, after: ReadonlyArray<Json>): boolean =>
  before.length === after.length && before.every((value, at) => value === after[at])

/** Whether a tool or a block of this type is left out. */
type IsRemoved = (type: string | undefined) => boolean

const typeOf = (value: Json | undefined): string | undefined => textOf(objectOf(value).type)

/** The body without these tools, and without a choice of one of them. */
const withoutTools = (body: JsonObject, isRemoved: IsRemoved, adjusted: Adjusted): JsonObject => {
  const { gone = [], kept = [] } = Object.groupBy(arrayOf(body.tools), (tool) =>
    isRemoved(typeOf(tool)) ? "gone" : "kept"
  )
  if (gone.length === 0) return body
  for (const tool of gone) adjusted.removed(`tools.${typeOf(tool)}`)
  const { tools: _, tool_choice: choice, ...rest } = body
  const chosen = textOf(objectOf(choice).name)
  const choosable = kept.length > 0 && !gone.some((tool) => chosen !== undefined && objectOf(tool).name === chosen)
  if (!choosable && isObject(choice)) adjusted.removed("tool_choice")
  return {
    ...rest,
    ...(kept.length === 0 ? {} : { tools: kept }),
    ...(choosable && choice !== undefined ? { tool_choice: choice } : {})
  }
}

/** The body without these blocks, and without messages that are then empty. */
const withoutBlocks = (body: JsonObject, isRemoved: IsRemoved, adjusted: Adjusted): JsonObject => {
  const without = (holder: JsonObject, path: string): JsonObject => {
    const blocks = blocksOf(holder)
    const content = blocks.flatMap((block): ReadonlyArray<Json> => {
      const type = typeOf(block)
      if (!isRemoved(type)) return [type === "tool_result" ? without(objectOf(block), `${path}.content`) : block]
      adjusted.removed(`${path}.${type}`)
      return []
    })
    return areSame(blocks, content) ? holder : { ...holder, content }
  }
  const given = arrayOf(body.messages)
  const messages = given.flatMap((message) => {
    const left = isObject(message) ? without(message, "messages.content") : message
    return left === message || blocksOf(left).length > 0 ? [left] : []
  })
  return areSame(given, messages) ? body : { ...body, messages }
}

const withoutEdits = (body: JsonObject, isRemoved: IsRemoved, adjusted: Adjusted): JsonObject => {
  const { context_management: management, ...rest } = body
  const { gone = [], kept = [] } = Object.groupBy(arrayOf(objectOf(management).edits), (edit) =>
    isRemoved(typeOf(edit)) ? "gone" : "kept"
  )
  if (gone.length === 0) return body
  for (const edit of gone) adjusted.removed(`context_management.edits.${typeOf(edit)}`)
  return kept.length === 0 ? rest : { ...rest, context_management: { ...objectOf(management), edits: kept } }
}

/**
 * The betas that are sent, the body, and the fields that are still to be left out of it. `allowed`: betas that the deployment's endpoint
 * takes. `adjusted` gets what is changed.
 */
export const applyBetas = (
  given: JsonObject,
  { betas: table, refused, strip }: Route,
  allowed: ReadonlyArray<string>,
  header: string | undefined,
  adjusted: Adjusted
) => {
  const { anthropic_beta, ...body } = given
  if (![anthropic_beta ?? []].flat().every((beta) => typeof beta === "string")) adjusted.removed("anthropic_beta")
  const types = arrayOf(body.tools).map((tool) => typeOf(tool) ?? "")
  /** One for nothing but tools is sent with these only: clients name it in every request. */
  const isIdle = ({ blocks, fields, tools = [] }: Beta): boolean =>
    tools.length > 0 && !blocks && !fields && !types.some((type) => tools.some((start) => type.startsWith(start)))
  const sent = new Set<string>()
  for (const beta of betasGiven(anthropic_beta, header)) {
    const known = table.find(({ aliases }) => aliases?.includes(beta))
    const own = allowed.find((one) => (known === undefined ? one === beta : isOf(known, one)))
    if (own !== undefined && !table.some((beta) => isOf(beta, own) && isIdle(beta))) sent.add(own)
    else adjusted.removed(`anthropic-beta.${beta}`)
  }
  const isSent = (beta: Beta) => [...sent].some((one) => isOf(beta, one))
  /** Whether the endpoint lacks a beta that is needed; it is added where the endpoint takes it. */
  const lacks = (beta: Beta | undefined): boolean => {
    if (beta === undefined || isSent(beta)) return false
    const own = allowed.find((one) => isOf(beta, one))
    if (own === undefined) return true
    sent.add(own)
    adjusted.changed("anthropic-beta", undefined, own)
    return false
  }
  const isAsked = ({ toolField }: Beta) =>
    toolField !== undefined && arrayOf(body.tools).some((tool) => objectOf(tool)[toolField] === true)
  table.filter(isAsked).forEach(lacks)
  /** Whether a tool or a block is removed: its beta is lacking. */
  const ofTool = (type = "") => lacks(table.find(({ tools }) => tools?.some((start) => type.startsWith(start))))
  const ofBlock = (type = "") => lacks(table.find(({ blocks }) => blocks?.includes(type)))
  const kept = withoutBlocks(withoutTools(body, ofTool, adjusted), ofBlock, adjusted)
  const sentBetas = table.filter(isSent)
  const betaFields = sentBetas.flatMap(({ fields = [] }) => fields)
  const edits = sentBetas.flatMap(({ edits = [] }) => edits)
  const ofEdit = (type = "") => edits.length > 0 && !edits.some((start) => type.startsWith(start))
  return {
    betas: allowed.filter((beta) => sent.has(beta)),
    body: withoutEdits(kept, ofEdit, adjusted),
    strip: betaFields.filter((field) => refused?.has(field) !== true).reduce(withoutPath, strip)
  }
}
