/** What Anthropic's API refuses of a request (docs/upstreams.md#refused-fields, docs/upstreams.md#structured-output-of-claude). */
import { extraneousKey, namesOf, type Refusals, reading } from "../Refusals.ts"

/** Stands for system messages among the others, which some models take and some refuse. */
export const systemTurns = "messages[system].role"

/** A whole sentence of Anthropic's, which Bedrock may introduce. */
const sentence = (words: RegExp): RegExp =>
  new RegExp(`^(?:The model returned the following errors: )?(?:${words.source})$`)

/** Schemas are compiled together. The tools' are the first that are no longer enforced; an instruction stands for the other. */
const strict = ["tools[?].strict", "tools[custom].strict"]
const format = ["output_config.format"]
const compiled = { paths: [strict, format], of: ["tools", "output_config.format"] }

export const claudeRefusals: Refusals = {
  essential: new Set([
    ...["model", "messages", "max_tokens", "role", "content", "type", "text", "source", "media_type", "data", "title"],
    ...["id", "name", "input", "tool_use_id", "thinking", "signature", "budget_tokens", "input_schema", "schema"],
    ...["system", "tools", "tool_choice", "stream", "stop_sequences", "temperature", "top_p", "top_k", "is_error"],
    ...["anthropic_version", "anthropic_beta", "description", "cache_control", "properties"]
  ]),
  opaque: new Set(["input_schema", "input", "schema"]),
  read: reading([
    [sentence(/([\w$-]+(?:\.[\w$-]+)*): Extra inputs are not permitted/), (path = "") => ({ names: namesOf(path) })],
    extraneousKey,
    [sentence(/messages\.\d+\.role: Input should be 'user' or 'assistant'/), () => ({ paths: [[systemTurns]] })],
    [
      sentence(
        /messages: Unexpected role "system"\. The Messages API accepts a top-level `system` parameter, not "system" as an input message role\./
      ),
      () => ({ paths: [[systemTurns]] })
    ],
    [sentence(/role 'system' is not supported on this model/), () => ({ paths: [[systemTurns]] })],
    [
      sentence(
        /metadata\.user_id: user_id appears to contain an? [a-z ]+\. Please send a uuid or hash value instead\./
      ),
      () => ({ names: ["metadata", "user_id"], of: "field" })
    ],
    [
      sentence(/tools\.\d+\.custom: For '\w*' type, (?:'additionalProperties' must be|property '[\w$-]+' is) [a-z ]+/),
      () => ({ ...compiled, paths: [strict] })
    ],
    [
      sentence(/Too many strict tools \(\d+\)\. The maximum number of strict tools supported is \d+\.?/),
      () => ({ ...compiled, paths: [strict] })
    ],
    [sentence(/output_config\.format\.schema: \S.*/), () => ({ ...compiled, paths: [format] })],
    [
      sentence(
        /Schemas contains too many [a-z ]+ \(\d+[\w ]*\), which would make grammar compilation inefficient\. [\w -]+ in your tool schemas \(limit: \d+\)\./
      ),
      () => compiled
    ],
    [sentence(/The compiled grammar is too large, which would cause performance issues\..*/), () => compiled],
    [sentence(/Schema is too complex for compilation\..*/), () => compiled]
  ])
}
