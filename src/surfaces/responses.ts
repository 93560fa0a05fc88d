/** The responses surface: a thin proxy to cloud C (docs/api.md#responses). */
import { Result } from "effect"
import { misshapen } from "../catalog/UpstreamFault.ts"
import { makeScrub, type Scrub } from "../cloud/fault.ts"
import type { ApiError } from "../contract/Errors.ts"
import { ResponsesRequest } from "../contract/Responses.ts"
import { reservedOutput } from "../vendors/reservedOutput.ts"
import { apiError } from "./errorResponse.ts"
import { callTexts, prepareResponses, screenedTools } from "./responsesBody.ts"
import { inputMedia } from "./responsesMedia.ts"
import { rewriteResponse } from "./responsesReply.ts"
import { responsesProtocol } from "./responsesStream.ts"
import { type Prepared, surface } from "./Surface.ts"

interface PreparedResponses extends Prepared {
  readonly scrub: Scrub
}

export const responses = surface<ResponsesRequest, PreparedResponses, ApiError>({
  purpose: "responses",
  schema: ResponsesRequest,
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
    return answer === undefined ? Result.fail(misshapen) : Result.succeed(answer)
  },
  protocol: ({ scrub }) => responsesProtocol(scrub)
})
