/** What chat completions and Responses have in common: how a request finds its model, and how it is refused or goes wrong. */
import type { Directives } from "../directives.ts"
import { type Answer, answered } from "../faults.ts"
import { type CloudRequest, jsonReply, type Reply } from "../http.ts"
import { isObject, type JsonObject, parseJson, stringOf } from "../json.ts"
import type { GptModel } from "../models.ts"
import { digest } from "../signature.ts"
import { failedReply, filteredReply, openaiError, type Platform, refusedReply } from "./shared.ts"

/** Where a request came in. `find` knows the models; an unknown one gets the cloud's own 404. */
export interface Place {
  readonly platform: Platform
  readonly find: (id: string) => GptModel | undefined
  /** The model, where the path names it and not the body. */
  readonly deployment?: string | undefined
}

/** A request with the model that it names. */
export interface Asked {
  readonly body: JsonObject
  readonly model: GptModel
  /** What a reply calls the model. */
  readonly name: string
  readonly platform: Platform
  /** Follows from the request, for identifiers. */
  readonly seed: string
}

/** Answers a request; `play` throws an `OpenAiRefusal` where the cloud would refuse it. */
export const serve = (
  request: CloudRequest,
  { platform, find, deployment }: Place,
  play: (asked: Asked) => Omit<Answer, "failed"> & { readonly directives: Directives }
): Reply => {
  const body = parseJson(request.body.toString())
  if (!isObject(body)) return jsonReply(400, openaiError(400, "We could not parse the JSON body of your request."))
  const id = deployment ?? stringOf(body.model)
  const model = find(id)
  if (model === undefined) return unknownModel(platform, id)
  const name = platform === "azure" ? `${model.base}-2025-11-13` : id
  try {
    const { directives, ...answer } = play({ body, model, name, platform, seed: digest(request.path, request.body) })
    if (directives.flags.has("filter-prompt") && directives.status === undefined) {
      return { ...filteredReply(), delay: directives.delay }
    }
    const failed: Answer["failed"] = (status, _, retryAfter) => failedReply(platform, status, retryAfter)
    return answered(directives, { ...answer, failed })
  } catch (error) {
    return refusedReply(error)
  }
}

const unknownModel = (platform: Platform, name: string): Reply =>
  platform === "azure"
    ? jsonReply(404, {
        error: {
          code: "DeploymentNotFound",
          message:
            "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."
        }
      })
    : jsonReply(404, openaiError(404, `The model '${name}' does not exist`, "model_not_found", "model"))
