/**
 * Betas of a messages request: which are sent, and what of the body goes because its beta is not (docs/api.md#betas). A field is left
 * out by the deployment's `strip`, which spares what belongs to the betas that are sent; tools and blocks are left out here.
 */
import type { Beta } from "../catalog/Catalog.ts"
import type { Route } from "../catalog/Route.ts"
import type { Adjusted } from "../vendors/adjustments.ts"
import { arrayOf, isObject, type Json, type JsonObject, objectOf, textOf } from "../wire/json.ts"
import { type Strip, sparing } from "../wire/strip.ts"

const isOf = ({ aliases = [], name }: Beta, beta: string): boolean => beta.startsWith(name) || aliases.includes(beta)

/** Betas of the body, a list or a text with commas, and of the header; each once. */
const betasGiven = (given: Json | undefined, header: string | undefined): ReadonlyArray<string> => {
  const texts = [given, ...arrayOf(given), header].flatMap((value) => textOf(value) ?? [])
  const names = texts.flatMap((text) => text.split(",")).map((beta) => beta.trim())
  return [...new Set(names.filter((beta) => beta !== ""))]
}

const isReadable = (given: Json | undefined): boolean =>
  given === undefined ||
  given === null ||
  typeof given === "string" ||
  (Array.isArray(given) && given.every((beta) => typeof beta === "string"))

const toolBeta = (tool: Json, betas: ReadonlyArray<Beta>): Beta | undefined => {
  const type = textOf(objectOf(tool).type)
  return type === undefined ? undefined : betas.find(({ tools }) => tools?.some((start) => type.startsWith(start)))
}

const blockBeta = (block: Json, betas: ReadonlyArray<Beta>): Beta | undefined => {
  const type = textOf(objectOf(block).type)
  return type === undefined ? undefined : betas.find(({ blocks }) => blocks?.includes(type))
}

const blocksOf = (holder: Json): ReadonlyArray<Json> => arrayOf(objectOf(holder).content)

/** The betas whose tools or blocks the body has. */
const usedBetas = (body: JsonObject, betas: ReadonlyArray<Beta>): ReadonlySet<Beta> => {
  const used = new Set<Beta>()
  for (const tool of arrayOf(body.tools)) {
    const beta = toolBeta(tool, betas)
    if (beta !== undefined) used.add(beta)
  }
  const look = (blocks: ReadonlyArray<Json>) => {
    for (const block of blocks) {
      const beta = blockBeta(block, betas)
      if (beta !== undefined) used.add(beta)
      if (objectOf(block).type === "tool_result") look(blocksOf(block))
    }
  }
  for (const message of arrayOf(body.messages)) look(blocksOf(message))
  return used
}

/** The body without the tools of these betas, and without a choice of one of them. */
const withoutTools = (body: JsonObject, betas: ReadonlyArray<Beta>, adjusted: Adjusted): JsonObject => {
  const kept: Array<Json> = []
  const gone: Array<Json> = []
  for (const tool of arrayOf(body.tools)) (toolBeta(tool, betas) === undefined ? kept : gone).push(tool)
  if (gone.length === 0) return body
  for (const tool of gone) adjusted.removed(`tools.${textOf(objectOf(tool).type)}`)
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

/** The body without the blocks of these betas, and without messages of which nothing is left. */
const withoutBlocks = (body: JsonObject, betas: ReadonlyArray<Beta>, adjusted: Adjusted): JsonObject => {
  const kept = (holder: JsonObject, path: string): JsonObject => {
    if (!Array.isArray(holder.content)) return holder
    let touched = false
    const content: Array<Json> = []
    for (const block of blocksOf(holder)) {
      const fields = objectOf(block)
      if (blockBeta(fields, betas) !== undefined) {
        touched = true
        adjusted.removed(`${path}.${fields.type}`)
        continue
      }
      const next = fields.type === "tool_result" ? kept(fields, `${path}.content`) : block
      touched ||= next !== block && next !== fields
      content.push(next)
    }
    return touched ? { ...holder, content } : holder
  }
  const messages: Array<Json> = []
  for (const message of arrayOf(body.messages)) {
    const next = isObject(message) ? kept(message, "messages.content") : message
    if (next === message || blocksOf(next).length > 0) messages.push(next)
  }
  return { ...body, messages }
}

interface MessagesBetas {
  /** Those that are sent. */
  readonly betas: ReadonlyArray<string>
  readonly body: JsonObject
  /** What is left out of the body. */
  readonly strip: Strip
}

/** `allowed`: betas that the deployment's endpoint takes. `adjusted` takes what is changed. */
export const applyBetas = (
  given: JsonObject,
  { betas: table, refused, strip }: Route,
  allowed: ReadonlyArray<string>,
  header: string | undefined,
  adjusted: Adjusted
): MessagesBetas => {
  const { anthropic_beta, ...body } = given
  if (!isReadable(anthropic_beta)) adjusted.removed("anthropic_beta")
  const sent = new Set<string>()
  for (const beta of betasGiven(anthropic_beta, header)) {
    const known = table.find(({ aliases }) => aliases?.includes(beta))
    const own = allowed.find((one) => (known === undefined ? one === beta : isOf(known, one)))
    if (own !== undefined) sent.add(own)
    else adjusted.removed(`anthropic-beta.${beta}`)
  }
  const isSent = (beta: Beta) => [...sent].some((one) => isOf(beta, one))
  // Tools and blocks exist only with their beta: without them the request would be another one.
  const unsent = [...usedBetas(body, table)].filter((beta) => {
    if (isSent(beta)) return false
    const own = allowed.find((one) => isOf(beta, one))
    if (own === undefined) return true
    sent.add(own)
    adjusted.changed("anthropic-beta", undefined, own)
    return false
  })
  const spared = table.filter(isSent).flatMap(({ fields = [] }) => fields)
  return {
    betas: allowed.filter((beta) => sent.has(beta)),
    body: unsent.length === 0 ? body : withoutBlocks(withoutTools(body, unsent, adjusted), unsent, adjusted),
    strip: spared.filter((field) => refused?.has(field) !== true).reduce(sparing, strip)
  }
}
