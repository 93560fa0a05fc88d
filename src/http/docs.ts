/** What needs no key: the page at `/`, and where they are public `/docs` and `/openapi.json` (docs/decisions.md#documents-without-a-key). */
import { Effect, Layer, Scope } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { CatalogStore } from "../catalog/CatalogStore.ts"
import { firstChatId } from "../catalog/Resolver.ts"
import { landingPage, landingPolicy, noticeOf, welcome } from "./indexPage.ts"

interface DocsOptions {
  /** Whether the documents are public; the usage notice always is. */
  readonly docs: boolean
  /** Whether the sandbox's key is filled in. */
  readonly sandbox: boolean
  /** The operator's own usage notice. */
  readonly notice?: string | undefined
  /** Whether the gateway itself speaks TLS. */
  readonly tls: boolean
}

const host = /^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:]+\](:\d{1,5})?$/
/** The page is HTML unless JSON is what was asked for. */
const wantsJson = (accept: string): boolean => accept.includes("application/json") && !accept.includes("text/html")

const landing = ({ docs, notice, sandbox, tls }: DocsOptions) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const catalog = yield* CatalogStore
      const page = Effect.gen(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const { list } = catalog.current()
        const content = docs ? welcome(list, sandbox, notice) : noticeOf(notice)
        const common = { "cache-control": "no-cache", vary: "accept" }
        if (wantsJson(headers.accept ?? "")) return HttpServerResponse.jsonUnsafe(content, { headers: common })
        const name = host.test(headers.host ?? "") ? headers.host : "localhost"
        const origin = `${tls ? "https" : "http"}://${name}`
        return HttpServerResponse.text(landingPage(content, origin, firstChatId(list)), {
          contentType: "text/html; charset=utf-8",
          headers: { ...common, "content-security-policy": landingPolicy, "referrer-policy": "no-referrer" }
        })
      })
      yield* router.add("GET", "/", page)
    })
  )

const references = ["/docs", "/openapi.json"] as const

/** What `docsLayer` serves, to GET. */
export const documentPaths = ({ docs }: Pick<DocsOptions, "docs">): ReadonlySet<string> =>
  new Set(["/", ...(docs ? references : [])])

/** Loaded with the first request for one of them. A caller that leaves meanwhile does not stop that. */
const reference = ({ notice, sandbox }: DocsOptions) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const catalog = yield* CatalogStore
      const scope = yield* Effect.scope
      const load = Effect.promise(() => import("./reference.ts")).pipe(
        Effect.flatMap(({ makeReference }) => makeReference(catalog.current, sandbox, notice)),
        Scope.provide(scope),
        Effect.uninterruptible
      )
      const loaded = yield* Effect.cached(load)
      yield* Effect.forEach(references, (path) =>
        router.add(
          "GET",
          path,
          Effect.flatMap(loaded, (made) => made[path])
        )
      )
    })
  )

export const docsLayer = (options: DocsOptions) =>
  options.docs ? Layer.merge(landing(options), reference(options)) : landing(options)
