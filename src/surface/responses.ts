/** The responses surface: a thin proxy to cloud C (docs/api.md#responses). */
import { Result } from "effect"
import type { ApiError } from "../api/Errors.ts"
import { ResponsesRequest } from "../api/Responses.ts"
import { misshapen } from "../model/UpstreamFault.ts"
import { prepareResponses, screenedTools } from "./responsesBody.ts"
import { rewriteResponse } from "./responsesReply.ts"
import { type ResponsesState, responsesProtocol } from "./responsesStream.ts"
import { type Prepared, surface } from "./Surface.ts"
import { apiError } from "./wireError.ts"

export const responses = surface<ResponsesRequest, Prepared, ApiError, ResponsesState>({
  purpose: "responses",
  schema: ResponsesRequest,
  error: apiError,
  counts: ({ tools }) => ({ tools: tools?.length ?? 0, images: 0, files: 0 }),
  tools: screenedTools,
  prepare: (request, route) =>
    Result.map(prepareResponses(request, route), ({ adjusted, body }) => {
      const { max_output_tokens: asked } = request
      const { maxOutputTokens } = route.model
      return {
        operation: "responses" as const,
        bodies: [body],
        stream: request.stream === true,
        adjusted,
        maxOutput: typeof asked === "number" && asked > 0 ? Math.min(asked, maxOutputTokens) : maxOutputTokens
      }
    }),
  answer: (_, { text, body }, scan) => {
    const answer = rewriteResponse(text, body, scan)
    return answer === undefined ? Result.fail(misshapen) : Result.succeed(answer)
  },
  protocol: () => responsesProtocol
})
