/**
 * Error bodies, one shape a surface (spec: Errors), and the statuses that carry them.
 *
 * A status is a property of a schema in HttpApi, so each error class yields one schema a status.
 */
import { Data, Schema, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"

/** `error.type` values, for all surfaces. */
export const ErrorType = Schema.Literals([
  "invalid_request_error",
  "authentication_error",
  "permission_error",
  "not_found_error",
  "rate_limit_error",
  "api_error"
])
export type ErrorType = typeof ErrorType.Type

interface ErrorFields {
  readonly status: number
  readonly type: string
  readonly message: string
  /** The gateway's ID of the request; clients know it from the reply's headers. */
  readonly requestId?: string | undefined
  /** Seconds to wait before the next attempt, where the gateway said so. */
  readonly retryAfter?: number | undefined
}

/** An error of the chat completions, responses, embeddings, models and health endpoints. */
export class ApiError extends Data.TaggedError("ApiError")<ErrorFields> {}

/** An error of the messages endpoints. */
export class MessagesError extends Data.TaggedError("MessagesError")<ErrorFields> {}

const Detail = Schema.Struct({
  type: Schema.String.annotate({ examples: ["invalid_request_error"] }),
  message: Schema.String.annotate({ examples: ["max_tokens: must be a positive integer"] })
})

export const ApiErrorBody = Schema.Struct({ error: Detail }).annotate({
  identifier: "ApiErrorBody",
  description: "What went wrong: error.type is for programs, error.message for people."
})
export const MessagesErrorBody = Schema.Struct({ type: Schema.Literal("error"), error: Detail }).annotate({
  identifier: "MessagesErrorBody",
  description: "What went wrong, in the shape of the messages format."
})

const apiError = (status: number) =>
  ApiErrorBody.pipe(
    Schema.decodeTo(
      Schema.instanceOf(ApiError).check(Schema.makeFilter((error) => error.status === status)),
      SchemaTransformation.transform({
        decode: ({ error }) => new ApiError({ status, ...error }),
        encode: ({ type, message }) => ({ error: { type, message } })
      })
    ),
    HttpApiSchema.status(status)
  )

const messagesError = (status: number) =>
  MessagesErrorBody.pipe(
    Schema.decodeTo(
      Schema.instanceOf(MessagesError).check(Schema.makeFilter((error) => error.status === status)),
      SchemaTransformation.transform({
        decode: ({ error }) => new MessagesError({ status, ...error }),
        encode: ({ type, message }) => ({ type: "error" as const, error: { type, message } })
      })
    ),
    HttpApiSchema.status(status)
  )

const common = [400, 403, 408, 413, 415, 429, 500, 502, 503, 504] as const

/** Statuses of the chat completions, responses and embeddings endpoints. */
export const ApiErrors = common.map(apiError)
/** Statuses of the models endpoint, which takes no body. */
export const ListErrors = [403, 500, 503].map(apiError)
/** Statuses of the messages endpoints: a missing or invalid key is 401 here. */
export const MessagesErrors = [...common, 401].map(messagesError)
