/**
 * Error bodies, one shape a surface (docs/api.md#errors), and the statuses that carry them.
 *
 * A status is a property of a schema in HttpApi, so each error class yields one schema a status.
 */
import { Schema, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { ApiError, type ErrorFields, MessagesError } from "./ApiError.ts"
import { described, named, object, string } from "./fields.ts"

export { ApiError, MessagesError } from "./ApiError.ts"

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

const detail = {
  type: string("For programs: the kind of error.", "invalid_request_error"),
  message: string(
    "For people: what is wrong, where, and what would work.",
    "max_tokens: must be a positive integer, from 1 to 9007199254740991"
  )
}
const what = { description: "What went wrong." }
const Detail = Schema.Struct({
  ...detail,
  code: Schema.optionalKey(
    string(
      "Where the cloud's safety system refused the prompt, or it is too long (`context_length_exceeded`).",
      "content_filter"
    )
  )
}).annotate(what)
const MessagesDetail = Schema.Struct({
  ...detail,
  details: Schema.optionalKey(
    described(
      Schema.Record(Schema.String, Schema.Unknown),
      "What client libraries read beside the message; rarely there."
    )
  )
}).annotate(what)

/** What a stream's last event says of a failure after the stream began. */
export const StreamedDetail = object({
  type: string("For programs: the kind of error.", "api_error"),
  message: string("For people: what went wrong.", "the cloud ended its reply early")
}).annotate(what)

export const ApiErrorBody = Schema.Struct({ error: Detail }).annotate(named("ApiErrorBody", "An error."))
export const MessagesErrorBody = Schema.Struct({ type: Schema.Literal("error"), error: MessagesDetail }).annotate(
  named("MessagesErrorBody", "An error, in the shape of the messages format.")
)

export const apiErrorBody = ({ type, code, message }: ApiError): typeof ApiErrorBody.Type => ({
  error: { type, message, ...(code === undefined ? {} : { code }) }
})
export const messagesErrorBody = ({ type, message, details }: MessagesError): typeof MessagesErrorBody.Type => ({
  type: "error",
  error: { type, message, ...(details === undefined ? {} : { details }) }
})

/** What a status means, and the type and message of an error that has it. */
const refusal = (meaning: string, message: string, type: ErrorType = "invalid_request_error") => ({
  meaning,
  type,
  message
})

export const statuses: Readonly<Record<string, ReturnType<typeof refusal>>> = {
  "400": refusal(
    "The request is not valid; the message says what is wrong, where, and what would work.",
    "max_tokens: must be a positive integer, from 1 to 9007199254740991"
  ),
  "401": refusal(
    "The API key is missing or not valid.",
    "the API key is missing or not valid: send it in x-api-key",
    "authentication_error"
  ),
  "403": refusal(
    "The API key is missing or not valid (`authentication_error`; 401 on the messages endpoints), or may not use this model or level (`permission_error`).",
    "this key may not use the level itar",
    "permission_error"
  ),
  "404": refusal(
    "There is nothing of this name.",
    "there is no model of this ID that the key may use; GET /v1/models lists every ID",
    "not_found_error"
  ),
  "405": refusal("The path takes other methods, which `allow` names.", "DELETE is not allowed here: use POST"),
  "408": refusal("The request took too long to arrive.", "the request body took too long"),
  "413": refusal("The request body is too large.", "the request body is larger than 33554432 bytes"),
  "415": refusal("The body is not JSON, or is compressed.", "Content-Type must be application/json"),
  "417": refusal(
    "The request has an `expect` other than `100-continue`.",
    "the only expectation that is met is 100-continue"
  ),
  "429": refusal(
    "A limit of the key or of the cloud is exceeded: try again after `retry-after`.",
    "the cloud that serves this model is limiting requests",
    "rate_limit_error"
  ),
  "431": refusal(
    "The headers are too large. They are refused before the path is known, so the shape is the same everywhere.",
    "the request's headers are too large"
  ),
  "500": refusal("The gateway failed.", "internal error", "api_error"),
  "502": refusal(
    "The cloud that serves the model failed or could not be reached.",
    "the cloud that serves this model could not be reached",
    "api_error"
  ),
  "503": refusal(
    "The gateway is overloaded, or its store of limits cannot be reached: try again after `retry-after`.",
    "the gateway has as many requests in flight as it takes; try again in a moment",
    "api_error"
  ),
  "504": refusal("The request took longer than it may.", "the reply took longer than a request may take", "api_error")
}

/** A body, and the error of a class that it is; `encode` writes it. */
const errorOf =
  <S extends Schema.Codec<{ readonly error: Omit<ErrorFields, "status"> }>, E extends ApiError | MessagesError>(
    body: S,
    Class: new (fields: ErrorFields) => E,
    encode: (error: E) => S["Type"]
  ) =>
  (status: number) =>
    body.pipe(
      Schema.decodeTo(
        Schema.instanceOf(Class)
          .check(Schema.makeFilter((error) => error.status === status))
          .annotate({ description: statuses[String(status)]?.meaning ?? "" }),
        SchemaTransformation.transform<E, S["Type"]>({ decode: ({ error }) => new Class({ status, ...error }), encode })
      ),
      HttpApiSchema.status(status)
    )

const apiError = errorOf(ApiErrorBody, ApiError, apiErrorBody)
const messagesError = errorOf(MessagesErrorBody, MessagesError, messagesErrorBody)
/** A refusal from before the path was known, which has the general shape on the messages endpoints too. */
const unroutedError = errorOf(ApiErrorBody, MessagesError, ({ type, message }) => ({ error: { type, message } }))

/** One schema a status, shared by all that answer it: the document would list twins side by side. */
const apiErrors = new Map(
  [400, 403, 404, 405, 408, 413, 415, 417, 429, 431, 500, 502, 503, 504].map((status) => [status, apiError(status)])
)
const messagesErrors = new Map(
  [400, 401, 403, 405, 408, 413, 415, 417, 429, 500, 502, 503, 504].map((status) => [status, messagesError(status)])
)

const among = <S>(schemas: ReadonlyMap<number, S>, ...statuses: ReadonlyArray<number>): ReadonlyArray<S> =>
  statuses.flatMap((status) => schemas.get(status) ?? [])

/** Statuses of the chat completions, responses and embeddings endpoints. */
export const ApiErrors = [...apiErrors].flatMap(([status, schema]) => (status === 404 ? [] : [schema]))
/** Of the health endpoint beside its own 503: no key, no body. */
export const HealthErrors = among(apiErrors, 400, 405, 408, 417, 431, 500)
/** Of the models endpoint, which takes no body. */
export const ListErrors = [...HealthErrors, ...among(apiErrors, 403, 429, 503)]
/** The same of one model, which there may not be. */
export const ModelErrors = [...ListErrors, ...among(apiErrors, 404)]
export const KeyErrors = among(apiErrors, 403, 429, 503)
/** Of the messages endpoints: a missing or invalid key is 401 here. */
export const MessagesErrors = [...messagesErrors.values(), unroutedError(431)]
export const MessagesKeyErrors = among(messagesErrors, 401, 429, 503)
