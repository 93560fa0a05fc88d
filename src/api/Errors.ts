/**
 * Error bodies, one shape a surface (docs/api.md#errors), and the statuses that carry them.
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
  /** What a client library reads of an error beside its message (messages endpoints). */
  readonly details?: Readonly<Record<string, unknown>> | undefined
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
const MessagesDetail = Schema.Struct({
  ...Detail.fields,
  details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
})

export const ApiErrorBody = Schema.Struct({ error: Detail }).annotate({
  identifier: "ApiErrorBody",
  description: "What went wrong: error.type is for programs, error.message for people."
})
export const MessagesErrorBody = Schema.Struct({ type: Schema.Literal("error"), error: MessagesDetail }).annotate({
  identifier: "MessagesErrorBody",
  description: "What went wrong, in the shape of the messages format."
})

/** An error's body, as it goes to the caller. */
export const apiErrorBody = ({ type, message }: ApiError): typeof ApiErrorBody.Type => ({ error: { type, message } })
export const messagesErrorBody = ({ type, message, details }: MessagesError): typeof MessagesErrorBody.Type => ({
  type: "error",
  error: { type, message, ...(details === undefined ? {} : { details }) }
})

const apiError = (status: number) =>
  ApiErrorBody.pipe(
    Schema.decodeTo(
      Schema.instanceOf(ApiError).check(Schema.makeFilter((error) => error.status === status)),
      SchemaTransformation.transform({
        decode: ({ error }) => new ApiError({ status, ...error }),
        encode: apiErrorBody
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
        encode: messagesErrorBody
      })
    ),
    HttpApiSchema.status(status)
  )

/** One schema a status, shared by all that answer it: the document would list twins side by side. */
const apiErrors = {
  400: apiError(400),
  403: apiError(403),
  408: apiError(408),
  413: apiError(413),
  415: apiError(415),
  429: apiError(429),
  500: apiError(500),
  502: apiError(502),
  503: apiError(503),
  504: apiError(504)
} as const
const messagesErrors = {
  400: messagesError(400),
  401: messagesError(401),
  403: messagesError(403),
  408: messagesError(408),
  413: messagesError(413),
  415: messagesError(415),
  429: messagesError(429),
  500: messagesError(500),
  502: messagesError(502),
  503: messagesError(503),
  504: messagesError(504)
} as const

/** Statuses of the chat completions, responses and embeddings endpoints. */
export const ApiErrors = Object.values(apiErrors)
/** Statuses of the models endpoint, which takes no body. */
export const ListErrors = [apiErrors[403], apiErrors[429], apiErrors[500], apiErrors[503]]
/** What the key's own check answers. */
export const KeyErrors = [apiErrors[403], apiErrors[429], apiErrors[503]]
/** Statuses of the messages endpoints: a missing or invalid key is 401 here. */
export const MessagesErrors = Object.values(messagesErrors)
export const MessagesKeyErrors = [messagesErrors[401], messagesErrors[429], messagesErrors[503]]
