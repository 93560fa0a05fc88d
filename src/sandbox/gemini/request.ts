/** What a generateContent request may be, what it asks, and what its prompt costs. */
import type { Tool, Turn } from "../answer.ts"
import { noDirectives, readDirectives } from "../directives.ts"
import { check } from "../http.ts"
import { type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import { describe, mediaTokens, resultText } from "../media.ts"
import type { GeminiModel } from "../models.ts"
import { all, anything, type Shape } from "../shape.ts"
import { countTokens } from "../tokens.ts"
import { checkContents, contentsOf, NAME, nameOf, partsOf, resultsIn, textsIn } from "./contents.ts"
import { closed, fields, holds, list, within } from "./shape.ts"

/** A checked request: what it asks, what its prompt costs, and whether thoughts are to be shown. */
export interface GeminiRequest {
  readonly turn: Turn
  readonly promptTokens: number
  readonly includeThoughts: boolean
  /** How many alternatives of each token are to be said; undefined where no probabilities are. */
  readonly logprobs: number | undefined
}

const schema = closed({
  ...fields("type format title description nullable enum items maxItems minItems properties required minProperties"),
  ...fields(
    "maxProperties minimum maximum minLength maxLength pattern example anyOf propertyOrdering default defs ref"
  ),
  ...fields("additionalProperties")
})

const declaration = all(
  closed({
    ...fields("name description parametersJsonSchema response responseJsonSchema behavior"),
    parameters: schema
  }),
  holds(
    (value) => NAME.test(stringOf(objectOf(value).name)),
    (path) =>
      `Invalid function name at '${path}.name'. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128.`
  ),
  holds(
    (value) => objectOf(value).parameters === undefined || objectOf(value).parametersJsonSchema === undefined,
    (path) => `${path}: only one of 'parameters' and 'parameters_json_schema' can be set.`
  )
)

const tool = all(
  holds(
    (value) => Object.keys(objectOf(value)).length > 0 && objectOf(value).functionDeclarations !== null,
    (path) => `${path}.tool_type: required one_of 'tool_type' must have one initialized field`
  ),
  closed({ ...fields("googleSearch codeExecution urlContext"), functionDeclarations: list(declaration) })
)

const MODES = ["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"]

const calling = closed({
  ...fields("allowedFunctionNames streamFunctionCallArguments"),
  mode: (mode, path) => check(MODES.includes(stringOf(mode)), `Invalid value at '${path}': "${stringOf(mode)}"`)
})

const generationOf = ({ maxOutput, levels, logprobs, defaultLevel }: GeminiModel): Shape =>
  all(
    closed({
      ...fields("topK responseMimeType responseSchema responseJsonSchema presencePenalty frequencyPenalty seed"),
      ...fields("responseLogprobs responseModalities mediaResolution audioTimestamp speechConfig"),
      logprobs: within(1, 20, "Unable to submit request because logprobs is outside the supported range from 1 to 20."),
      temperature: within(
        0,
        2,
        "Unable to submit request because it has a temperature value outside the supported range. The supported range is from 0 (inclusive) to 2.0 (inclusive)."
      ),
      topP: within(
        0,
        1,
        "Unable to submit request because it has a topP value outside the supported range from 0 to 1."
      ),
      maxOutputTokens: (limit, path) =>
        within(
          1,
          maxOutput,
          `Unable to submit request because it has a maxOutputTokens value of ${String(limit)} but the supported range is from 1 (inclusive) to ${maxOutput + 1} (exclusive).`
        )(limit, path),
      candidateCount: within(1, 1, "Multiple candidates is not enabled for this model"),
      stopSequences: all(
        list(anything),
        holds(
          (stops) => listOf(stops).length <= 5,
          "Unable to submit request because it has too many stop sequences. The maximum is 5."
        )
      ),
      thinkingConfig: all(
        closed(fields("thinkingLevel thinkingBudget includeThoughts")),
        holds(
          (value) => objectOf(value).thinkingLevel === undefined || objectOf(value).thinkingBudget === undefined,
          "You can only set only one of thinking budget and thinking level."
        ),
        (value) => {
          const level = stringOf(objectOf(value).thinkingLevel ?? defaultLevel).toUpperCase()
          const message = `Thinking level ${level} is not supported for this model. Please retry with other thinking level.`
          check(levels.includes(level), message)
        }
      )
    }),
    holds(
      (value) => logprobs || objectOf(value).responseLogprobs !== true,
      "Unable to submit request because Logprobs is not supported for this model."
    ),
    holds(
      (value) => objectOf(value).logprobs === undefined || objectOf(value).responseLogprobs === true,
      "Unable to submit request because logprobs is set but responseLogprobs is not."
    )
  )

const requestOf = (model: GeminiModel): Shape =>
  closed({
    ...fields("systemInstruction safetySettings labels cachedContent"),
    contents: contentsOf(model),
    tools: list(tool),
    toolConfig: closed({ functionCallingConfig: calling, ...fields("retrievalConfig") }),
    generationConfig: generationOf(model)
  })

const toolsOf = (body: JsonObject): ReadonlyArray<Tool> =>
  objectsOf(body.tools)
    .flatMap(({ functionDeclarations }) => objectsOf(functionDeclarations))
    .map(({ name, description, parameters, parametersJsonSchema }) => ({
      name: stringOf(name),
      description: stringOf(description),
      schema: objectOf(parametersJsonSchema ?? parameters)
    }))

const choiceOf = (body: JsonObject, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const { mode, allowedFunctionNames } = objectOf(objectOf(body.toolConfig).functionCallingConfig)
  const allowed = listOf(allowedFunctionNames)
  check(
    allowed.length === 0 || mode === "ANY" || mode === "VALIDATED",
    "Please ensure that allowed_function_names is only set when the mode is ANY or VALIDATED."
  )
  check(
    allowed.every((name) => tools.some((tool) => tool.name === name)),
    "allowed_function_names contains a function that is not declared."
  )
  if (mode === "NONE") return "none"
  if (mode !== "ANY") return "auto"
  return typeof allowed[0] === "string" ? { name: allowed[0] } : "required"
}

const askedOf = (config: JsonObject, model: GeminiModel) => {
  const { responseSchema, responseJsonSchema, maxOutputTokens: limit } = config
  check(
    responseSchema === undefined || responseJsonSchema === undefined,
    "Only one of response_schema and response_json_schema can be set."
  )
  const schema = responseJsonSchema ?? responseSchema
  const json = config.responseMimeType === "application/json"
  check(schema === undefined || json, "response_schema is only supported with response_mime_type application/json.")
  const { thinkingLevel, thinkingBudget, includeThoughts } = objectOf(config.thinkingConfig)
  return {
    stops: listOf(config.stopSequences).map(stringOf),
    limit: typeof limit === "number" ? limit : undefined,
    format: schema === undefined ? (json ? ("json" as const) : undefined) : objectOf(schema),
    thinks: stringOf(thinkingLevel ?? model.defaultLevel).toUpperCase() !== "MINIMAL" && thinkingBudget !== 0,
    includeThoughts: includeThoughts === true
  }
}

const partTokens = (part: JsonObject): number =>
  countTokens(stringOf(part.text)) +
  (part.inlineData === undefined ? 0 : mediaTokens(stringOf(objectOf(part.inlineData).data).length * 0.75)) +
  (part.functionCall === undefined ? 0 : countTokens(JSON.stringify(part.functionCall))) +
  (part.functionResponse === undefined ? 0 : countTokens(JSON.stringify(part.functionResponse)))

/** Checks a generateContent or countTokens request as Vertex AI does, and reads what it asks. Throws a `Refusal`. */
export const readGemini = (body: JsonObject, model: GeminiModel): GeminiRequest => {
  requestOf(model)(body, "")
  const contents = objectsOf(body.contents)
  checkContents(contents, model)
  const tools = toolsOf(body)
  const { responseLogprobs, logprobs: alternatives } = objectOf(body.generationConfig)
  const { includeThoughts, ...asked } = askedOf(objectOf(body.generationConfig), model)
  const instructions = textsIn(objectOf(body.systemInstruction))
  const last = contents.at(-1)
  const results = resultsIn(last)
  const users = contents.filter((content) => content.role !== "model" && textsIn(content) !== "")
  const spoken = users.at(-1)
  return {
    turn: {
      model: model.base,
      prompt: readDirectives(textsIn(spoken)).rest,
      instructions,
      turns: users.length,
      media: partsOf(last).flatMap((part) => {
        const inline = objectOf(part.inlineData)
        return part.inlineData === undefined
          ? []
          : [describe(stringOf(inline.mimeType), Buffer.byteLength(stringOf(inline.data), "base64"))]
      }),
      results: results.map((part) => ({
        name: nameOf(part, "functionResponse"),
        content: resultText(objectOf(part.functionResponse).response)
      })),
      tools,
      choice: choiceOf(body, tools),
      ...asked,
      directives: results.length === 0 ? readDirectives(textsIn(last)) : noDirectives
    },
    promptTokens:
      countTokens(instructions) +
      contents.flatMap(partsOf).reduce((sum, part) => sum + partTokens(part), 0) +
      (tools.length === 0 ? 0 : countTokens(JSON.stringify(tools))),
    includeThoughts,
    logprobs: responseLogprobs === true ? Number(alternatives ?? 0) : undefined
  }
}
