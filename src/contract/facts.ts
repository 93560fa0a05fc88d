/** What the gateway knows of its endpoints beside the contract: an annotation on each, read where it is needed. */
import { Context } from "effect"
import { byPurpose, isPurpose, type Purpose, type SurfaceName } from "../catalog/names.ts"

export interface EndpointFacts {
  /** The name in records and metrics; undefined for what is not recorded. */
  readonly surface: SurfaceName | undefined
  /** Whether it answers in a stream when asked to. */
  readonly streamed: boolean
  /** The name under which an operator can have its tools screened (`GATEWAY_SCREEN_SURFACES`). */
  readonly screened: "chat" | "messages" | "responses" | undefined
}

export class Facts extends Context.Service<Facts, EndpointFacts>()("gateway/contract/Facts") {}

export interface Endpoint extends EndpointFacts {
  /** What its model IDs are resolved for; undefined where it takes none. */
  readonly purpose: Purpose | undefined
  readonly method: string
  readonly path: string
}

interface Group {
  readonly endpoints: Readonly<
    Record<string, { readonly annotations: Context.Context<never>; readonly method: string; readonly path: string }>
  >
}

/** Every endpoint of the contract, by its path as the document has it. An endpoint without facts is a bug. */
export const endpointsOf = (api: { readonly groups: object }): ReadonlyMap<string, Endpoint> =>
  new Map(
    Object.values(api.groups)
      .flatMap(({ endpoints }: Group) => Object.values(endpoints))
      .map(({ annotations, method, path }) => ({ annotations, method, path: path.replace(/:(\w+)/, "{$1}") }))
      .map(({ annotations, method, path }) => {
        const facts = Context.getUnsafe(annotations, Facts)
        return [path, { method, path, ...facts, purpose: isPurpose(facts.surface) ? facts.surface : undefined }]
      })
  )

/** The path that serves each purpose. */
export const pathsOf = (endpoints: ReadonlyMap<string, Endpoint>): Readonly<Record<Purpose, string>> => {
  const all = [...endpoints.values()]
  return byPurpose((purpose) => all.find((endpoint) => endpoint.purpose === purpose)?.path ?? "")
}
