/**
 * The catalog: which models exist, which cloud serves each at which level, and what is particular about each.
 * It is data, so that a new model needs no code. Nothing else may decide by a model's name.
 */
import { Schema } from "effect"
import { Cloud } from "./clouds.ts"
import { Authorization } from "./Level.ts"
import { apis, efforts, families } from "./names.ts"

/**
 * What a model is of: messages-format (`claude`), Google-family (`gemini`), GPT-class with or without
 * open weights (`gpt`), and embedding models. It names the dialect and the endpoints that take the model.
 */
const Family = Schema.Literals(families)

export const Effort = Schema.Literals(efforts)
export type Effort = typeof Effort.Type

/**
 * How a model thinks.
 *
 * `api`: `budgeted` takes `thinking.budget_tokens`, `adaptive` takes `output_config.effort`, `level` takes Gemini's
 * `thinkingLevel`, `effort` takes OpenAI's `reasoning_effort`, `none` does not think.
 */
const Thinking = Schema.Struct({
  api: Schema.Literals(["budgeted", "adaptive", "level", "effort", "none"]),
  /** Whether the model can run without thinking. */
  optional: Schema.Boolean,
  /** Efforts the model takes, lowest first. */
  efforts: Schema.Array(Effort),
  /** The effort of a request that names none. */
  default: Effort,
  /** Whether replies count reasoning tokens apart (docs/api.md#chat-answers). */
  counted: Schema.Boolean,
  /** Whether reasoning arrives inside the content in `<reasoning>` tags, to be taken out. */
  tagged: Schema.optionalKey(Schema.Boolean)
})

const Positive = Schema.Int.check(Schema.isGreaterThan(0))
const Names = Schema.optionalKey(Schema.Array(Schema.NonEmptyString))

const textLike = (form: RegExp, message: string) => Schema.String.check(Schema.isPattern(form, { message }))

/** What goes into an upstream's address: no segment of it is `.`, `..` or empty. */
const UpstreamId = textLike(
  /^[A-Za-z0-9][\w.:@-]*(\/[A-Za-z0-9][\w.:@-]*)*$/u,
  "an upstream ID is letters, digits, '.', '_', ':', '@', '-' and '/', and its parts begin with a letter or digit"
)
/** A region or location: the name of a place and no more. */
const Region = textLike(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/u, "a region is a name such as us-gov-west-1 or us-east5").check(
  Schema.makeFilter((region) => region !== "global" || "a region is a place inside the boundary, never global")
)

const Price = Schema.Finite.check(
  Schema.isBetween({ minimum: 0, maximum: 1_000_000 }),
  Schema.makeFilter(
    (price) =>
      Math.abs(price * 1e6 - Math.round(price * 1e6)) < 1e-3 || "a price has at most six digits after its point"
  )
)

/** What a million tokens cost there. None is shipped: they are the operator's contract (docs/decisions.md#prices). */
export const Prices = Schema.Struct({
  /** ISO 4217, the same in the whole catalog. */
  currency: textLike(/^[A-Z]{3}$/u, "a currency is a code such as USD"),
  /** Since when they hold; for people. */
  date: textLike(/^\d{4}-\d\d-\d\d$/u, "the date of prices is one such as 2026-11-01"),
  input: Price,
  output: Price,
  /** Input read from a prompt cache, and written to one; as `input` where they are absent. */
  cacheRead: Schema.optionalKey(Price),
  cacheWrite: Schema.optionalKey(Price),
  /** Input that a cache keeps for an hour; twice `input` where it is absent. */
  cacheWrite1h: Schema.optionalKey(Price)
})
export type Prices = typeof Prices.Type

const When = Schema.Literals(["always", "without-thinking", "never"])

/** One place where a model runs. */
export const Deployment = Schema.Struct({
  cloud: Cloud,
  /** Which of the cloud's APIs serves it: Anthropic messages, Gemini content, OpenAI chat or responses, or Titan embeddings. */
  api: Schema.Literals(apis),
  /** The upstream's ID: sent verbatim, never derived. */
  model: UpstreamId,
  authorization: Authorization,
  /** Regions inside one boundary that may stand in for each other; without it the region of the settings. */
  regions: Schema.optionalKey(Schema.NonEmptyArray(Region)),
  /** The relative share of keys that each region gets; 1 where absent. */
  weights: Schema.optionalKey(Schema.Record(Region, Schema.Finite.check(Schema.isGreaterThan(0)))),
  /** What the operator may ask of the cloud in a minute, in all regions together. The gateway keeps to it (`CloudQuota`). */
  quota: Schema.optionalKey(
    Schema.Struct({
      requests: Schema.optionalKey(Positive),
      tokens: Schema.optionalKey(Positive)
    })
  ),
  /** Whether the deployment also serves the responses API (docs/api.md#responses). */
  responses: Schema.optionalKey(Schema.Boolean),
  /** Gemini: whether whole replies say how likely their tokens were (docs/upstreams.md#token-probabilities-of-gemini). */
  logprobs: Schema.optionalKey(Schema.Boolean),
  /** Gemini: the largest `seed` that is taken; a larger one is folded into the range (docs/upstreams.md#sampling-parameters-of-gemini). */
  maxSeed: Schema.optionalKey(Positive),
  /** The ID that the count endpoint wants; absent: no counting on this deployment. */
  countModel: Schema.optionalKey(UpstreamId),
  /** Betas that may be sent with a message, and with a count; others are removed. */
  betas: Names,
  countBetas: Names,
  /** Whether the request itself may carry `cache_control`; elsewhere its last block is marked (docs/upstreams.md#automatic-caching). */
  automaticCaching: Schema.optionalKey(Schema.Boolean),
  /** Whether system messages may stand between the other messages (docs/upstreams.md#system-messages). */
  systemTurns: Schema.optionalKey(Schema.Boolean),
  /** Whether a budget above `max_tokens` is honoured with the interleaved-thinking beta. */
  interleavedBudget: Schema.optionalKey(Schema.Boolean),
  /** Fields the upstream refuses, removed before sending: `a.b`, `tools[].c` (of every element). */
  strip: Schema.optionalKey(
    Schema.Array(textLike(/^\w+(\[\])?(\.\w+(\[\])?)*$/u, "a field to strip is a path like a.b or tools[].c"))
  ),
  prices: Schema.optionalKey(Prices)
})
export type Deployment = typeof Deployment.Type

export const Model = Schema.Struct({
  /** The base model: the vendor's own name. */
  id: textLike(
    /^[A-Za-z0-9][A-Za-z0-9._-]*$/u,
    "a base model is letters, digits, '.', '_' and '-', and begins with a letter or digit"
  ),
  family: Family,
  /** The model list's `owned_by`: lowercase vendor key. */
  ownedBy: textLike(/^[a-z0-9._-]+$/u, "a vendor key is lowercase"),
  /** The model list's `created`: Unix time in seconds. */
  created: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  inputs: Schema.Array(Schema.Literals(["image", "pdf"])),
  thinking: Thinking,
  /** When `temperature`, `top_p` (and `top_k`) are taken. */
  sampling: When,
  /** When a forced tool choice is taken. */
  forcedToolChoice: When,
  /** Largest number of output tokens; 0 for an embedding model. */
  maxOutputTokens: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  /** In order: the first one authorized for a level serves it. */
  deployments: Schema.NonEmptyArray(Deployment)
})
export type Model = typeof Model.Type

/** What belongs to a beta of the messages format: where the beta is not sent, it goes too (docs/upstreams.md#betas). */
export const Beta = Schema.Struct({
  /** The beta's name, or how the names of all its versions begin. */
  name: Schema.NonEmptyString,
  /** Its names on the vendor's own API. */
  aliases: Names,
  /** Paths of fields, as `Deployment.strip` has them; `a.b=text` is a value. */
  fields: Schema.optionalKey(
    Schema.Array(
      textLike(/^\w+(\[\])?(\.\w+(\[\])?)*(=\w+)?$/u, "a field of a beta is a path like a.b, tools[].c or a.b=text")
    )
  ),
  /** The field of a tool that asks for it on the vendor's own API. The clouds that have the beta refuse the field. */
  toolField: Schema.optionalKey(Schema.NonEmptyString),
  /** How the types of its tools begin. */
  tools: Names,
  /** Types of its blocks. */
  blocks: Names,
  /** How the types of its edits of the context begin: where it is sent, no others are. */
  edits: Names
})
export type Beta = typeof Beta.Type

export const Catalog = Schema.Struct({
  /** For editors: where the JSON Schema is. */
  $schema: Schema.optionalKey(Schema.String),
  models: Schema.NonEmptyArray(Model),
  /** Absent: those of the shipped catalog. */
  betas: Schema.optionalKey(Schema.Array(Beta))
})
export type Catalog = typeof Catalog.Type
