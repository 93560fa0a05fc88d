/** The simulated models: those of a catalog. What it leaves open follows the model's generation, or the vendor's newest models. */
import type { Catalog, Deployment, Model } from "../catalog/Catalog.ts"
import type { Cloud } from "../catalog/clouds.ts"

/** Sources: Anthropic's and the clouds' documentation of extended and adaptive thinking. */
const claude = (model: Model) => {
  const { id, thinking } = model
  const [, major, minor = "0"] = /-(\d)(?:-(\d))?$/.exec(id) ?? []
  // Without a generation in its ID, the kind of thinking decides.
  const unnamed = thinking.api === "adaptive" ? 5 : 4.5
  const version = major === undefined ? unnamed : Number(`${major}.${minor}`)
  const both = version === 4.6
  const adaptive = both || thinking.api === "adaptive"
  return {
    ...model,
    version,
    budgeted: both || thinking.api === "budgeted",
    adaptive,
    /** Thinks without a `thinking` parameter. */
    thinksUnasked: id.includes("sonnet") && version >= 5,
    efforts: adaptive ? thinking.efforts.filter((effort) => effort !== "none") : [],
    /** Takes `interleaved-thinking-2025-05-14`. */
    interleaves: version <= 4.5,
    /** Tokens of a prompt at most. Sources: Anthropic's documentation of context windows. */
    contextWindow: (betas: ReadonlyArray<string>) =>
      version >= 4.6 || (id.includes("sonnet") && betas.includes("context-1m-2025-08-07")) ? 1_000_000 : 200_000,
    /** Thinking text is left out of replies unless `display` asks for a summary. */
    hidesThinking: version >= 4.7
  }
}
export type ClaudeModel = ReturnType<typeof claude>

const gemini = ({ thinking, maxOutputTokens }: Model, { model, logprobs = false }: Deployment) => {
  const levels = thinking.efforts.map((effort) => effort.toUpperCase())
  // Penalties ended with Gemini 2.0 (docs/upstreams.md#sampling-parameters-of-gemini).
  const penalties = /^gemini-(?:1|2\.0)/.test(model)
  return { base: model, levels, logprobs, penalties, maxOutput: maxOutputTokens, contextWindow: 1_048_576 }
}
export type GeminiModel = ReturnType<typeof gemini>

const gpt = (model: Model, { api }: Deployment) => ({
  ...model,
  /** Open-weight: its reasoning comes as a tagged prefix of the content. */
  inlineReasoning: model.thinking.tagged === true,
  // Sources: Azure's page of its models, and OpenAI's of gpt-oss.
  contextWindow: model.thinking.tagged === true ? 131_072 : 272_000,
  // The clouds' own defaults: none up to GPT-5.1, which chat completions serve, and medium from then on.
  defaultEffort: model.thinking.optional && api === "chat" ? "none" : "medium",
  /** Chat completions take no tools while it reasons: from GPT-5.4 on. */
  toolsByResponses: api === "responses"
})
export type GptModel = ReturnType<typeof gpt>

/** Looks models up by the clouds' IDs. `catalog` is called each time: it may change. */
export const modelsOf = (catalog: () => Catalog) => {
  const find = (family: Model["family"], cloud: Cloud, ...ids: ReadonlyArray<string>) =>
    catalog()
      .models.filter((model) => model.family === family)
      .flatMap((model) => model.deployments.map((deployment) => ({ model, deployment })))
      .find(({ deployment: one }) => one.cloud === cloud && ids.some((id) => [one.model, one.countModel].includes(id)))
  /** On Bedrock an inference profile and its foundation model exist together. */
  const near = (family: Model["family"], cloud: Cloud, id: string) =>
    find(family, cloud, id) ??
    (cloud === "bedrock" ? find(family, cloud, `us-gov.${id}`, id.replace(/^us-gov\./, "")) : undefined)
  return {
    /** A foundation model may serve only token counts, which `deployment` shows. */
    claude: (cloud: Cloud, id: string) => {
      const found = near("claude", cloud, id)
      return found && { model: claude(found.model), deployment: found.deployment }
    },
    gemini: (id: string) => {
      const found = find("gemini", "vertex", id)
      return found && gemini(found.model, found.deployment)
    },
    gpt: (cloud: Cloud, id: string) => {
      const found = near("gpt", cloud, id)
      // Models of closed weights have profiles only.
      const served = found !== undefined && (found.deployment.model === id || found.model.thinking.tagged === true)
      return served ? gpt(found.model, found.deployment) : undefined
    },
    isEmbedding: (id: string) => find("embedding", "bedrock", id) !== undefined,
    /** Whether the catalog has a model there: the one address on loopback stands for all regions of its cloud. */
    isRegion: (cloud: Cloud, region: string) =>
      catalog().models.some(({ deployments }) =>
        deployments.some((one) => one.cloud === cloud && one.regions?.includes(region) === true)
      )
  }
}
export type Models = ReturnType<typeof modelsOf>
