/** What the gateway knows of its endpoints beside the contract: an annotation on each, read where it is needed. */
import { Context, Record } from "effect"
import { type HttpApiEndpoint, OpenApi } from "effect/http-api"
import { isPurpose, type Purpose, type SurfaceName, surfaces } from "../catalog/names.ts"

export interface Endpoint {
  /** The name in records and metrics; undefined for what is not recorded. */
  readonly surface: SurfaceName | undefined
  /** What its model IDs are resolved for; undefined where it takes none. */
  readonly purpose: Purpose | undefined
  readonly method: string
  readonly path: string
}
class EndpointFacts extends Context.Service<EndpointFacts, Pick<Endpoint, "surface">>()(
  "gateway/contract/EndpointFacts"
) {}

const aboutStreams =
  "With `stream: true` the reply is a stream of server-sent events. It is complete only with its last event; an error event ends it too."

/** Annotates an endpoint: what records call it, and what the document says of it. `stream` is a sample of its stream. */
export const operation = (
  surface: SurfaceName | undefined,
  identifier: string,
  summary: string,
  about: string,
  stream?: string
) => {
  const description = stream === undefined ? about : `${about}\n\n${aboutStreams}\n\n\`\`\`\n${stream}\n\`\`\``
  return Context.add(OpenApi.annotations({ identifier, summary, description }), EndpointFacts, { surface })
}

/** Annotates a group of endpoints with what the document says of it. */
export const section = (title: string, description: string) => OpenApi.annotations({ title, description })

interface Group {
  readonly endpoints: Readonly<Record<string, Pick<HttpApiEndpoint.Top, "annotations" | "method" | "path">>>
}

/** Every endpoint of the contract, by its path as the document has it. An endpoint without facts is a bug. */
export const endpointsOf = (api: { readonly groups: object }): ReadonlyMap<string, Endpoint> =>
  new Map(
    Object.values(api.groups)
      .flatMap(({ endpoints }: Group) => Object.values(endpoints))
      .map(({ annotations, method, path: template }) => {
        const { surface } = Context.getUnsafe(annotations, EndpointFacts)
        const path = template.replace(/:(\w+)/, "{$1}")
        return [path, { method, path, surface, purpose: isPurpose(surface) ? surface : undefined }]
      })
  )

export const pathsOf = (endpoints: ReadonlyMap<string, Endpoint>): Readonly<Record<Purpose, string>> => {
  const all = [...endpoints.values()]
  return Record.map(surfaces, (_, purpose) => all.find((endpoint) => endpoint.purpose === purpose)?.path ?? "")
}
