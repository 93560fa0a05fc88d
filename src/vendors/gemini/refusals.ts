/** What Gemini refuses of a request (docs/upstreams.md#sampling-parameters-of-gemini, docs/upstreams.md#gemini-schemas). */
import { namesOf, type Refusals, reading } from "../Refusals.ts"

const config = (name: string): string => `generationConfig.${name}`

/** Google's parser writes paths in snake case, and an unknown name as it came. */
const camel = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const sentence = (words: RegExp): RegExp => new RegExp(`^(?:Unable to submit request because )?(?:${words.source})$`)
const unknown = (name: string, place: string): string =>
  `Unknown name "${name}"(?: at '${place}')?: Cannot find field\\.`

export const geminiRefusals: Refusals = {
  essential: new Set([
    ...["contents", "role", "parts", "text", "inlineData", "mimeType", "data", "functionCall", "functionResponse"],
    ...["name", "args", "response", "systemInstruction", "tools", "functionDeclarations", "parametersJsonSchema"],
    ...["description", "toolConfig", "functionCallingConfig", "mode", "generationConfig", "maxOutputTokens"],
    "responseMimeType"
  ]),
  opaque: new Set(["args", "response", "parametersJsonSchema", "responseJsonSchema"]),
  read: reading([
    [
      sentence(/Penalty is not (?:enabled|supported) for (?:this model|the current model|models\/[\w.-]+)\.?/),
      () => ({ paths: [[config("presencePenalty"), config("frequencyPenalty")]] })
    ],
    [
      sentence(/Logprobs is not (?:enabled|supported) for (?:this model|the current model|models\/[\w.-]+)\.?/),
      () => ({ paths: [[config("responseLogprobs"), config("logprobs")]] })
    ],
    [
      sentence(/Thinking level \w+ is not supported for this model\. Please retry with other thinking level\./),
      () => ({ paths: [[config("thinkingConfig.thinkingLevel")]], of: "field" })
    ],
    [
      sentence(/The specified schema produces a constraint that has too many states for serving\..*/),
      () => ({ paths: [[config("responseJsonSchema")]], of: "field" })
    ],
    [
      /^Invalid value at '([\w.[\]]+)' \([\w./]+\)(?:, [^\n]*)?$/,
      (path = "") => ({ names: namesOf(camel(path)), of: "field" })
    ],
    // One line for each; what is not left out now is refused next.
    [
      new RegExp(
        `^Invalid JSON payload received\\. ${unknown("(\\w+)", "([\\w.[\\]]+)")}(?:\\n(?:Invalid JSON payload received\\. )?${unknown("\\w+", "[\\w.[\\]]+")})*$`
      ),
      (name = "", place = "") => ({ names: [...(place === "" ? [] : namesOf(camel(place))), name] })
    ]
  ])
}
