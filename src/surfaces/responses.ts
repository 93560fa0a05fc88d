/** The responses surface: a thin proxy to cloud C (docs/api.md#responses). */
import { Result } from "effect"
import { reservedOutput } from "../catalog/Tokens.ts"
import { invalidBody } from "../catalog/UpstreamFault.ts"
import { makeScrub, type Scrub } from "../cloud/fault.ts"
import type { ApiError } from "../contract/Errors.ts"
import { ResponsesRequest } from "../contract/Responses.ts"
import { arrayOf, isObject, type Json, textOf } from "../wire/json.ts"
import { plainFields } from "../wire/parse.ts"
import { apiError } from "./errorResponse.ts"
import { callTexts, prepareResponses, screenedTools } from "./responsesBody.ts"
import { rewriteResponse } from "./responsesReply.ts"
import { responsesProtocol } from "./responsesStream.ts"
import type { Counts, Prepared, Surface } from "./Surface.ts"

/** Images and files in the input, and how many bytes they are: in the content of messages, and in what tools put out. */
const inputMedia = (input: Json | undefined): Omit<Counts, "tools"> => {
  let images = 0
  let files = 0
  let mediaBytes = 0
  for (const item of arrayOf(input)) {
    if (!isObject(item)) continue
    for (const part of [...arrayOf(item.content), ...arrayOf(item.output)]) {
      if (!isObject(part)) continue
      if (part.type === "input_image") images++
      else if (part.type === "input_file") files++
      else continue
      mediaBytes += (textOf(part.image_url) ?? textOf(part.file_data) ?? "").length
    }
  }
  return { images, files, mediaBytes }
}

interface PreparedResponses extends Prepared {
  readonly scrub: Scrub
}

export const responses: Surface<ResponsesRequest, PreparedResponses, ApiError> = {
  purpose: "responses",
  schema: ResponsesRequest,
  // Those that are read stand at the top.
  plainNumbers: plainFields,
  error: apiError,
  counts: (request) => ({ tools: request.tools?.length ?? 0, ...inputMedia(request.input) }),
  tools: screenedTools,
  texts: callTexts,
  prepare: (request, route) =>
    Result.map(prepareResponses(request, route), ({ adjusted, body }) => {
      return {
        operation: "responses" as const,
        bodies: [body],
        stream: request.stream === true,
        adjusted,
        scrub: makeScrub([[route.deployment.model, route.model.id]]),
        maxOutput: reservedOutput(body, route.model)
      }
    }),
  answer: ({ scrub }, { bytes, body }) => {
    const answer = rewriteResponse(bytes, body, scrub)
    return answer === undefined ? Result.fail(invalidBody) : Result.succeed(answer)
  },
  protocol: ({ scrub }) => responsesProtocol(scrub)
}
