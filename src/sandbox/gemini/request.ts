import type { Tool, Turn } from "../answer.ts"
import { noDirectives, readDirectives } from "../directives.ts"
import { check } from "../http.ts"
import { type JsonObject, listOf, objectOf, objectsOf, stringOf } from "../json.ts"
import { describe, mediaTokens, resultText } from "../media.ts"
import type { GeminiModel } from "../models.ts"
import { countTokens } from "../tokens.ts"
import { checkContents, NAME, nameOf, only, partsOf, resultsIn, textsIn } from "./contents.ts"

/** A checked request: what it asks, what its prompt costs, and whether thoughts are to be shown. */
export interface GeminiRequest {
  readonly turn: Turn
  readonly promptTokens: number
  readonly includeThoughts: boolean
}

const known = {
  body: [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "labels",
    "cachedContent"
  ],
  declaration: [
    "name",
    "description",
    "parameters",
    "parametersJsonSchema",
    "response",
    "responseJsonSchema",
    "behavior"
  ],
  generation: [
    ...[
      "temperature",
      "topP",
      "topK",
      "candidateCount",
      "maxOutputTokens",
      "stopSequences",
      "responseMimeType",
      "responseSchema"
    ],
    ...[
      "responseJsonSchema",
      "presencePenalty",
      "frequencyPenalty",
      "seed",
      "responseLogprobs",
      "logprobs",
      "thinkingConfig"
    ],
    ...["responseModalities", "mediaResolution", "audioTimestamp", "speechConfig"]
  ],
  thinking: ["thinkingLevel", "thinkingBudget", "includeThoughts"]
}

const toolsOf = (body: JsonObject): ReadonlyArray<Tool> => {
  const tools = objectsOf(body.tools)
  return tools.flatMap((tool, index) => {
    only(tool, ["functionDeclarations", "googleSearch", "codeExecution", "urlContext"], `tools[${index}]`)
    check(
      Object.keys(tool).length > 0 && tool.functionDeclarations !== null,
      `tools[${index}].tool_type: required one_of 'tool_type' must have one initialized field`
    )
    return objectsOf(tool.functionDeclarations).map((declaration, at) => {
      const path = `tools[${index}].function_declarations[${at}]`
      only(declaration, known.declaration, path)
      check(
        NAME.test(stringOf(declaration.name)),
        `Invalid function name at '${path}.name'. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:) or dashes (-), with a maximum length of 128.`
      )
      const { parameters, parametersJsonSchema } = declaration
      check(
        parameters === undefined || parametersJsonSchema === undefined,
        `${path}: only one of 'parameters' and 'parameters_json_schema' can be set.`
      )
      if (parameters !== undefined) {
        only(
          objectOf(parameters),
          [
            "type",
            "format",
            "title",
            "description",
            "nullable",
            "enum",
            "items",
            "maxItems",
            "minItems",
            "properties",
            "required",
            "minProperties",
            "maxProperties",
            "minimum",
            "maximum",
            "minLength",
            "maxLength",
            "pattern",
            "example",
            "anyOf",
            "propertyOrdering",
            "default",
            "defs",
            "ref",
            "additionalProperties"
          ],
          `${path}.parameters`
        )
      }
      return {
        name: stringOf(declaration.name),
        description: stringOf(declaration.description),
        schema: objectOf(parametersJsonSchema ?? parameters)
      }
    })
  })
}

const choiceOf = (body: JsonObject, tools: ReadonlyArray<Tool>): Turn["choice"] => {
  const config = objectOf(objectOf(body.toolConfig).functionCallingConfig)
  only(config, ["mode", "allowedFunctionNames", "streamFunctionCallArguments"], "tool_config.function_calling_config")
  const mode = stringOf(config.mode ?? "AUTO")
  check(
    ["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"].includes(mode),
    `Invalid value at 'tool_config.function_calling_config.mode': "${mode}"`
  )
  const allowed = listOf(config.allowedFunctionNames)
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

const generationOf = (body: JsonObject, model: GeminiModel) => {
  const config = objectOf(body.generationConfig)
  only(config, known.generation, "generation_config")
  const { temperature, topP, maxOutputTokens: limit, responseSchema, responseJsonSchema } = config
  check(
    temperature === undefined || (typeof temperature === "number" && temperature >= 0 && temperature <= 2),
    "Unable to submit request because it has a temperature value outside the supported range. The supported range is from 0 (inclusive) to 2.0 (inclusive)."
  )
  check(
    topP === undefined || (typeof topP === "number" && topP >= 0 && topP <= 1),
    "Unable to submit request because it has a topP value outside the supported range from 0 to 1."
  )
  check(
    limit === undefined || (typeof limit === "number" && limit >= 1 && limit <= model.maxOutput),
    `Unable to submit request because it has a maxOutputTokens value of ${String(limit)} but the supported range is from 1 (inclusive) to ${model.maxOutput + 1} (exclusive).`
  )
  check((config.candidateCount ?? 1) === 1, "Multiple candidates is not enabled for this model")
  const stops = listOf(config.stopSequences).map((stop) => stringOf(stop))
  check(stops.length <= 5, "Unable to submit request because it has too many stop sequences. The maximum is 5.")
  check(
    responseSchema === undefined || responseJsonSchema === undefined,
    "Only one of response_schema and response_json_schema can be set."
  )
  const schema = responseJsonSchema ?? responseSchema
  const json = config.responseMimeType === "application/json"
  check(schema === undefined || json, "response_schema is only supported with response_mime_type application/json.")
  const thinking = objectOf(config.thinkingConfig)
  only(thinking, known.thinking, "generation_config.thinking_config")
  const level = stringOf(thinking.thinkingLevel ?? model.defaultLevel).toUpperCase()
  check(
    thinking.thinkingLevel === undefined || thinking.thinkingBudget === undefined,
    "You can only set only one of thinking budget and thinking level."
  )
  check(
    model.levels.includes(level),
    `Thinking level ${level} is not supported for this model. Please retry with other thinking level.`
  )
  return {
    stops,
    limit: typeof limit === "number" ? limit : undefined,
    format: schema === undefined ? (json ? ("json" as const) : undefined) : objectOf(schema),
    thinks: level !== "MINIMAL" && thinking.thinkingBudget !== 0,
    includeThoughts: thinking.includeThoughts === true
  }
}

const partTokens = (part: JsonObject): number =>
  countTokens(stringOf(part.text)) +
  (part.inlineData === undefined ? 0 : mediaTokens(stringOf(objectOf(part.inlineData).data).length * 0.75)) +
  (part.functionCall === undefined ? 0 : countTokens(JSON.stringify(part.functionCall))) +
  (part.functionResponse === undefined ? 0 : countTokens(JSON.stringify(part.functionResponse)))

/** Checks a generateContent or countTokens request as Vertex AI does, and reads what it asks. Throws a `Refusal`. */
export const readGemini = (body: JsonObject, model: GeminiModel): GeminiRequest => {
  only(body, known.body, "")
  const contents = objectsOf(body.contents)
  checkContents(contents, model)
  const tools = toolsOf(body)
  const { includeThoughts, ...generation } = generationOf(body, model)
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
      ...generation,
      directives: results.length === 0 ? readDirectives(textsIn(last)) : noDirectives
    },
    promptTokens:
      countTokens(instructions) +
      contents.flatMap(partsOf).reduce((sum, part) => sum + partTokens(part), 0) +
      (tools.length === 0 ? 0 : countTokens(JSON.stringify(tools))),
    includeThoughts
  }
}
