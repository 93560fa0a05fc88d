/**
 * The documents that need no key: `/`, `/docs` and `/openapi.json`
 * (docs/decisions.md#documents-without-a-key). They work without any other server: the browser is told to load nothing and to
 * talk to nobody but the gateway.
 */
import { createHash } from "node:crypto"
import { Effect, Layer, Result } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { Api, endpoints } from "../api/Api.ts"
import { withModels } from "../api/document.ts"
import { CatalogStore } from "../model/CatalogStore.ts"
import type { Purpose } from "../model/names.ts"
import type { Index } from "../model/Resolver.ts"
import { landingPage, landingPolicy, notice, welcome } from "./landing.ts"

export interface DocsOptions {
  /** Whether the documents are public; the usage notice always is. */
  readonly docs: boolean
  /** Whether the sandbox's key is filled in. */
  readonly sandbox: boolean
  /** Whether the gateway itself speaks TLS. */
  readonly tls: boolean
}

const hash = (script: string): string => `'sha256-${createHash("sha256").update(script).digest("base64")}'`

/**
 * The reference makes its styles as it goes, hence the one `unsafe-inline`; its scripts are known by their hashes, and
 * whatever they would fetch is this gateway's.
 */
const referencePolicy = (html: string): string => {
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, script]) => hash(script ?? ""))
  return `default-src 'none'; script-src ${scripts.join(" ")}; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}

const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

const purposes: ReadonlyArray<Purpose> = ["chat", "messages", "responses", "embeddings", "count"]

/** The document with the IDs of the catalog in force, made once for each catalog. */
const makeDocument = Effect.map(CatalogStore, (catalog) => {
  let of: Index | undefined
  let text = ""
  return (): string => {
    const index = catalog.current()
    if (index !== of) {
      const ids = Object.fromEntries(
        purposes.map((purpose) => [
          purpose,
          index.list.map(({ id }) => id).filter((id) => Result.isSuccess(index.resolve(id, purpose)))
        ])
      )
      text = JSON.stringify(withModels({ ...OpenApi.fromApi(Api) }, endpoints, (purpose) => ids[purpose] ?? []))
      of = index
    }
    return text
  }
})

/** The reference comes with the document of the contract in it, as one line of script. */
const embedded = /^(\s*content: )\{.*\}$/m
const escaped = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** The page is the same for everyone, so it and its policy are made once for each document. */
const inForce = HttpRouter.middleware(
  Effect.map(makeDocument, (document) => {
    let of: string | undefined
    let page: HttpServerResponse.HttpServerResponse | undefined
    return Effect.map((response: HttpServerResponse.HttpServerResponse) => {
      const json = document()
      if (page === undefined || json !== of) {
        const html = textOf(response).replace(embedded, (_, start: string) => start + escaped(json))
        page = HttpServerResponse.html(html).pipe(
          HttpServerResponse.setHeaders({
            "content-security-policy": referencePolicy(html),
            "referrer-policy": "no-referrer",
            "cache-control": "no-cache"
          })
        )
        of = json
      }
      return page
    })
  })
)

const reference = ({ sandbox }: DocsOptions) => {
  const apiKey = sandbox ? { value: "sandbox-key" } : {}
  const scalar = {
    authentication: { preferredSecurityScheme: "apiKey", securitySchemes: { apiKey } },
    withDefaultFonts: false,
    hideClientButton: true,
    hideModels: true,
    showDeveloperTools: "never",
    telemetry: false,
    favicon: "data:,"
  }
  return HttpApiScalar.layer(Api, { path: "/docs", scalar }).pipe(Layer.provide(inForce.layer))
}

const host = /^[A-Za-z0-9.-]+(:\d{1,5})?$|^\[[0-9A-Fa-f:]+\](:\d{1,5})?$/
/** The page is HTML unless JSON is what was asked for. */
const wantsJson = (accept: string): boolean => accept.includes("application/json") && !accept.includes("text/html")

const landing = ({ docs, sandbox, tls }: DocsOptions) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const catalog = yield* CatalogStore
      const page = Effect.gen(function* () {
        const { headers } = yield* HttpServerRequest.HttpServerRequest
        const content = docs ? welcome(catalog.current().list, sandbox) : notice
        const common = { "cache-control": "no-cache", vary: "accept" }
        if (wantsJson(headers.accept ?? "")) return HttpServerResponse.jsonUnsafe(content, { headers: common })
        const name = host.test(headers.host ?? "") ? headers.host : "localhost"
        return HttpServerResponse.text(landingPage(content, `${tls ? "https" : "http"}://${name}`), {
          contentType: "text/html; charset=utf-8",
          headers: { ...common, "content-security-policy": landingPolicy, "referrer-policy": "no-referrer" }
        })
      })
      yield* router.add("GET", "/", page)
    })
  )

const openapi = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const document = yield* makeDocument
    const serve = Effect.sync(() => HttpServerResponse.text(document(), { contentType: "application/json" }))
    yield* router.add("GET", "/openapi.json", serve)
  })
)

export const docsLayer = (options: DocsOptions) =>
  options.docs ? Layer.mergeAll(reference(options), landing(options), openapi) : landing(options)
