/**
 * The models that the clouds play: those of a catalog, by the clouds' own IDs. What a catalog does not say of a model is what its
 * vendor's newest models do, or those of its generation.
 */
import type { Catalog, Cloud, Deployment, Model } from "../model/Catalog.ts"

/** How a Claude model behaves. Sources: Anthropic's and the clouds' documentation of extended and adaptive thinking. */
export interface ClaudeModel {
  readonly kind: "claude"
  /** What replies call the model. */
  readonly base: string
  readonly version: number
  readonly budgeted: boolean
  readonly adaptive: boolean
  /** Takes a request not to think. */
  readonly optional: boolean
  /** Thinks when the request says nothing about it. */
  readonly thinksUnasked: boolean
  readonly sampling: boolean
  readonly efforts: ReadonlyArray<string>
  readonly maxOutput: number
  /** Takes `interleaved-thinking-2025-05-14`. */
  readonly interleaves: boolean
  /** Prompt tokens that tools add: with a free choice, with a forced one. */
  readonly toolOverhead: readonly [number, number]
  /** Tokens for a text, relative to the older tokenizer. */
  readonly tokenFactor: number
  /** Thinking text is left out of replies unless `display` asks for a summary. */
  readonly hidesThinking: boolean
  readonly forcedToolChoice: boolean
}

/** How a Gemini model behaves: the thinking levels it takes, and its default. */
export interface GeminiModel {
  readonly kind: "gemini"
  readonly base: string
  readonly levels: ReadonlyArray<string>
  /** Says how likely the tokens of a whole reply were. */
  readonly logprobs: boolean
  readonly defaultLevel: string
  readonly maxOutput: number
}

/** How a GPT model behaves. `inlineReasoning`: open-weight, its reasoning comes as a tagged prefix of the content. */
export interface GptModel {
  readonly kind: "gpt"
  readonly base: string
  readonly inlineReasoning: boolean
  readonly efforts: ReadonlyArray<string>
  readonly defaultEffort: string
  readonly images: boolean
  readonly maxOutput: number
  /** Chat completions take no tools while it reasons: from GPT-5.4 on. */
  readonly toolsByResponses: boolean
}

const overheads: ReadonlyArray<readonly [number, readonly [number, number]]> = [
  [5, [354, 474]],
  [4.8, [290, 410]],
  [4.7, [675, 804]],
  [4.6, [497, 589]],
  [4.5, [496, 588]],
  [0, [313, 315]]
]

/** The generation that an ID names; one without is as its kind of thinking has it. */
const versionOf = (id: string, adaptive: boolean): number => {
  const [, major, minor = "0"] = /-(\d)(?:-(\d))?$/.exec(id) ?? []
  return major === undefined ? (adaptive ? 5 : 4.5) : Number(`${major}.${minor}`)
}

const claude = ({ id, thinking, sampling, forcedToolChoice, maxOutputTokens }: Model): ClaudeModel => {
  const version = versionOf(id, thinking.api === "adaptive")
  // The one generation that takes both.
  const both = version === 4.6
  const adaptive = both || thinking.api === "adaptive"
  return {
    kind: "claude",
    base: id,
    version,
    budgeted: both || thinking.api === "budgeted",
    adaptive,
    optional: thinking.optional,
    thinksUnasked: id.includes("sonnet") && version >= 5,
    sampling: sampling !== "never",
    efforts: adaptive ? thinking.efforts.filter((effort) => effort !== "none") : [],
    maxOutput: maxOutputTokens,
    interleaves: version <= 4.5,
    toolOverhead: overheads.find(([from]) => version >= from)?.[1] ?? [313, 315],
    tokenFactor: version >= 4.7 ? 1.3 : 1,
    hidesThinking: version >= 4.7,
    forcedToolChoice: forcedToolChoice !== "never"
  }
}

const gemini = ({ thinking, maxOutputTokens }: Model, { model, logprobs = false }: Deployment): GeminiModel => {
  const levels = thinking.efforts.map((effort) => effort.toUpperCase())
  const defaultLevel = levels.at(-1) ?? "HIGH"
  return { kind: "gemini", base: model, levels, logprobs, defaultLevel, maxOutput: maxOutputTokens }
}

const gpt = ({ id, thinking, inputs, maxOutputTokens }: Model, { api }: Deployment): GptModel => ({
  kind: "gpt",
  base: id,
  inlineReasoning: thinking.tagged === true,
  efforts: thinking.efforts,
  // The clouds' own defaults: none up to GPT-5.1, which chat completions serve, and medium from then on.
  defaultEffort: thinking.optional && api === "chat" ? "none" : "medium",
  images: inputs.includes("image"),
  maxOutput: maxOutputTokens,
  toolsByResponses: api === "responses"
})

/** A model of a cloud, by an ID of its own. */
export interface Found<M> {
  readonly model: M
  /** Whether the ID is one that is called: on Bedrock a foundation model may be counted only. */
  readonly callable: boolean
  readonly countable: boolean
}

/** What the clouds look their models up in; undefined for what there is not. */
export interface Models {
  readonly claude: (cloud: Cloud, id: string) => Found<ClaudeModel> | undefined
  readonly gemini: (id: string) => GeminiModel | undefined
  readonly gpt: (cloud: Cloud, id: string) => GptModel | undefined
  readonly isEmbedding: (id: string) => boolean
}

const profile = "us-gov."

/** `catalog` is asked each time, because an operator may change it. */
export const modelsOf = (catalog: () => Catalog): Models => {
  const find = (family: Model["family"], cloud: Cloud, id: string) => {
    for (const model of catalog().models) {
      if (model.family !== family) continue
      for (const deployment of model.deployments) {
        if (deployment.cloud === cloud && (deployment.model === id || deployment.countModel === id)) {
          return { model, deployment }
        }
      }
    }
    return undefined
  }
  /** An inference profile and its foundation model exist together. */
  const near = (family: Model["family"], cloud: Cloud, id: string) =>
    find(family, cloud, id) ??
    (cloud === "bedrock"
      ? find(family, cloud, id.startsWith(profile) ? id.slice(profile.length) : profile + id)
      : undefined)
  return {
    claude: (cloud, id) => {
      const found = near("claude", cloud, id)
      if (found === undefined) return undefined
      const { model, deployment } = found
      const countable = deployment.countModel === id
      return { model: claude(model), callable: deployment.model === id, countable }
    },
    gemini: (id) => {
      const found = find("gemini", "vertex", id)
      return found && gemini(found.model, found.deployment)
    },
    gpt: (cloud, id) => {
      const found = near("gpt", cloud, id)
      // Models of closed weights have profiles only.
      const served = found !== undefined && (found.deployment.model === id || found.model.thinking.tagged === true)
      return served ? gpt(found.model, found.deployment) : undefined
    },
    isEmbedding: (id) => find("embedding", "bedrock", id) !== undefined
  }
}
