/** How Claude models of one generation behave. Sources: Anthropic's and the clouds' documentation of extended and adaptive thinking. */
export interface ClaudeModel {
  readonly kind: "claude"
  /** What replies call the model. */
  readonly base: string
  readonly version: number
  readonly budgeted: boolean
  readonly adaptive: boolean
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

const maxOutput = (version: number): number => (version >= 4.6 ? 128_000 : version >= 4.5 ? 64_000 : 32_000)

const claude = (family: string, major: string, minor: string | undefined): ClaudeModel => {
  const version = Number(`${major}.${minor ?? 0}`)
  const effort = version >= 4.6 || (family === "opus" && version === 4.5)
  return {
    kind: "claude",
    base: `claude-${family}-${major}${minor === undefined ? "" : `-${minor}`}`,
    version,
    budgeted: version <= 4.6,
    adaptive: version >= 4.6,
    thinksUnasked: family === "sonnet" && version >= 5,
    sampling: version <= 4.6,
    efforts: !effort
      ? []
      : ["low", "medium", "high", ...(version >= 4.7 ? ["xhigh"] : []), ...(version >= 4.6 ? ["max"] : [])],
    maxOutput: maxOutput(version),
    interleaves: version <= 4.5,
    toolOverhead: overheads.find(([from]) => version >= from)?.[1] ?? [313, 315],
    tokenFactor: version >= 4.7 ? 1.3 : 1,
    hidesThinking: version >= 4.7,
    forcedToolChoice: !(version >= 5.5 && family !== "haiku")
  }
}

/** The Claude model of a Vertex ID: dated with `@` to 4.5, bare from 4.6 on. */
export const vertexClaude = (id: string): ClaudeModel | undefined => {
  const [, family, major, minor, date] = /^claude-(opus|sonnet|haiku|fable)-([4-5])(?:-(\d))?(@\d{8})?$/.exec(id) ?? []
  if (family === undefined || major === undefined) return undefined
  const model = claude(family, major, minor)
  return model.version >= 4.6 === (date === undefined) ? model : undefined
}

/** The Claude model of a Bedrock ID, and whether the ID is an inference profile (`us-gov.…`) or a foundation model. */
export const bedrockClaude = (id: string): { readonly model: ClaudeModel; readonly profile: boolean } | undefined => {
  const match = /^(us-gov\.)?anthropic\.claude-(opus|sonnet|haiku|fable)-([4-5])(?:-(\d))?(-\d{8}-v1:0|-v1)?$/.exec(id)
  const [, prefix, family, major, minor] = match ?? []
  return family === undefined || major === undefined
    ? undefined
    : { model: claude(family, major, minor), profile: prefix !== undefined }
}

/** The Gemini model of a Vertex ID. Levels: Google's thinking documentation. */
export const vertexGemini = (id: string): GeminiModel | undefined => {
  const [, major, minor, tier] = /^gemini-(3)(?:\.(\d))?-(pro|flash-lite|flash)(?:-preview|-\d{3})?$/.exec(id) ?? []
  if (major === undefined) return undefined
  const version = Number(`${major}.${minor ?? 0}`)
  const recent = tier === "flash" && version >= 3.7
  const levels = tier === "pro" && version < 3.1 ? ["LOW", "HIGH"] : ["LOW", "MEDIUM", "HIGH"]
  return {
    kind: "gemini",
    base: id,
    levels: tier === "pro" || recent ? levels : ["MINIMAL", ...levels],
    defaultLevel: recent ? "MEDIUM" : "HIGH",
    maxOutput: 65_536
  }
}

const gpt = (base: string): GptModel => ({
  kind: "gpt",
  base,
  inlineReasoning: false,
  efforts: ["none", "low", "medium", "high", "xhigh"],
  defaultEffort: /gpt-5\.1/.test(base) ? "none" : "medium",
  images: true,
  maxOutput: 128_000,
  toolsByResponses: /gpt-5\.[4-9]/.test(base)
})

/** The GPT model that a Bedrock ID names on the OpenAI-compatible route: gpt-oss bare or as a profile, GPT as a profile only. */
export const bedrockGpt = (id: string): GptModel | undefined => {
  const oss = /^(?:us-gov\.)?openai\.(gpt-oss-(?:20b|120b))-1:0$/.exec(id)?.[1]
  if (oss !== undefined) {
    return {
      kind: "gpt",
      base: oss,
      inlineReasoning: true,
      efforts: ["minimal", "low", "medium", "high"],
      defaultEffort: "medium",
      images: false,
      maxOutput: 16_384,
      toolsByResponses: false
    }
  }
  const named = /^us-gov\.openai\.(gpt-5\.[6-9](?:-[a-z]+)?)$/.exec(id)?.[1]
  return named === undefined ? undefined : gpt(named)
}

/** The GPT model behind an Azure deployment; the sandbox's deployments are named as their models. */
export const azureGpt = (id: string): GptModel | undefined =>
  /^gpt-5(?:\.\d)?(?:-mini|-nano)?$/.test(id) ? gpt(id) : undefined

/** The one embeddings model of the sandbox. */
export const isTitan = (id: string): boolean => id === "amazon.titan-embed-text-v2:0"
