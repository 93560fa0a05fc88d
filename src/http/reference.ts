/**
 * The OpenAPI document and the interactive reference (Scalar), each one self-contained text. Imported when one of them is first
 * asked for: they and what they are made from take 16 MiB.
 */
import { hash } from "node:crypto"
import { Effect, Result } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import type { Purpose } from "../catalog/names.ts"
import type { Index } from "../catalog/Resolver.ts"
import { Api, endpoints } from "../contract/Api.ts"
import { withModels } from "../contract/document.ts"
import { usageNotice } from "../contract/usageNotice.ts"
import { escapeHtml } from "./indexPage.ts"

const hashOf = (script: string): string => `'sha256-${hash("sha256", script, "base64")}'`

/**
 * Scalar writes its styles as it runs, hence the one `unsafe-inline`. Its scripts are known by their hashes, and it can fetch from
 * this gateway only.
 */
const referencePolicy = (html: string): string => {
  const scripts = [...html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, script]) => hashOf(script ?? ""))
  return `default-src 'none'; script-src ${scripts.join(" ")}; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}

const textOf = ({ body }: HttpServerResponse.HttpServerResponse): string =>
  body._tag === "Uint8Array" ? new TextDecoder().decode(body.body) : ""

/** In a quotation of CommonMark, where HTML would be HTML. */
const quoted = (notice: string): string =>
  notice.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`).replaceAll("\n", "\n> ")

/** The document, with the model IDs of a catalog as its examples. */
const documentOf = ({ list, resolve }: Index, notice: string): string => {
  const servedFor = (purpose: Purpose) =>
    list.map(({ id }) => id).filter((id) => Result.isSuccess(resolve(id, purpose)))
  const { info, ...document } = OpenApi.fromApi(Api)
  const description = info.description?.replace(usageNotice, () => quoted(notice))
  return JSON.stringify(withModels({ ...document, info: { ...info, description } }, endpoints, servedFor))
}

/** Scalar's page has the document of the contract in it, as one line of script. */
const embedded = /^(\s*content: )\{.*\}$/m
const escaped = (json: string): string =>
  json.replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

const pageOf = (scalar: string, json: string, notice: string): HttpServerResponse.HttpServerResponse => {
  const html = scalar
    .replace(embedded, (_, start: string) => start + escaped(json))
    // The page's own description has it too.
    .replaceAll(usageNotice, () => escapeHtml(notice))
  return HttpServerResponse.uint8Array(Buffer.from(html), {
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": referencePolicy(html),
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache"
    }
  })
}

const scalarApp = (sandbox: boolean) => {
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
  return HttpRouter.toHttpEffect(HttpApiScalar.layer(Api, { path: "/docs", scalar }))
}

/** Both are the same for everyone, and are made once for each catalog: as bytes, which all replies share until their callers have read them. */
export const makeReference = (current: () => Index, sandbox: boolean, notice: string = usageNotice) =>
  Effect.map(scalarApp(sandbox), (scalar) => {
    let of: Index | undefined
    let json = ""
    let document = HttpServerResponse.empty()
    let page: HttpServerResponse.HttpServerResponse | undefined
    const refresh = () => {
      const index = current()
      if (index === of) return
      json = documentOf(index, notice)
      document = HttpServerResponse.uint8Array(Buffer.from(json), { contentType: "application/json" })
      page = undefined
      of = index
    }
    return {
      "/openapi.json": Effect.sync(() => {
        refresh()
        return document
      }),
      "/docs": Effect.map(scalar, (response) => {
        refresh()
        page ??= pageOf(textOf(response), json, notice)
        return page
      })
    }
  })
