/** The page at `/`: the usage notice, what is active, where to go. Self-contained; no script, nothing loaded. */
import { hash } from "node:crypto"
import { cloudFacts, clouds } from "../catalog/clouds.ts"
import { levels } from "../catalog/names.ts"
import type { Entry } from "../catalog/Route.ts"
import { usageNotice } from "../contract/usageNotice.ts"
import { service, version } from "../contract/version.ts"

/** What everyone sees: every reply links to the notice. */
export const noticeOf = (notice: string = usageNotice) => ({
  service,
  version,
  notice,
  links: { health: "/health" }
})

/** What a caller sees before it has a key, where the documents are public: clouds and levels, no model names but how many IDs there are. */
export const welcome = (list: ReadonlyArray<Entry>, sandbox: boolean, notice?: string) => ({
  ...noticeOf(notice),
  sandbox,
  clouds: clouds
    .map((cloud) => {
      const served = new Set(list.filter(({ deployment }) => deployment.cloud === cloud).map(({ level }) => level))
      return { cloud, levels: levels.filter((level) => served.has(level)) }
    })
    .filter(({ levels }) => levels.length > 0),
  models: list.length,
  links: { docs: "/docs", openapi: "/openapi.json", health: "/health" }
})

type Welcome = ReturnType<typeof welcome>

const style = `
:root { color-scheme: light dark; --ink: #1b1b1f; --soft: #5b5f6b; --line: #d9dce3; --paper: #fff; --shade: #f4f5f8; --accent: #1a4fa3; --warn: #8a5a00; --warn-shade: #fff7e0 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e9ee; --soft: #a3a8b5; --line: #363a45; --paper: #15171c; --shade: #1e2128; --accent: #8ab4ff; --warn: #f2c661; --warn-shade: #2b2414 }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif }
main { max-width: 46rem; margin: 0 auto; padding: 3rem 1.25rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem }
h2 { font-size: 1.05rem; margin: 2.25rem 0 .5rem }
p { margin: .5rem 0 }
.soft { color: var(--soft) }
.notice { margin: 1.5rem 0; padding: .9rem 1.1rem; border-left: 4px solid var(--warn); background: var(--warn-shade); white-space: pre-line }
.notice strong { color: var(--warn) }
a { color: var(--accent) }
nav { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; margin: 1.5rem 0 }
nav a { padding: .45rem .9rem; border: 1px solid var(--line); border-radius: .4rem; text-decoration: none }
nav a:first-child { background: var(--accent); border-color: var(--accent); color: var(--paper) }
nav a:hover { text-decoration: underline }
a:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
table { width: 100%; border-collapse: collapse; font-size: .95rem }
th, td { text-align: left; vertical-align: top; padding: .5rem .75rem .5rem 0; border-top: 1px solid var(--line) }
th { white-space: nowrap; font-weight: 600 }
code, pre { font: .875rem/1.5 ui-monospace, monospace }
td code { display: inline-block; white-space: nowrap; padding: 0 .4rem; margin: 0 .2rem .2rem 0; background: var(--shade); border-radius: .25rem }
pre { margin: .5rem 0; padding: .9rem 1.1rem; background: var(--shade); overflow-x: auto; border-radius: .4rem }
@media (max-width: 30rem) { th, td { display: block } td { border: 0; padding-top: 0 } }
`

/** Only this page's own style, and nothing else, may do anything. */
export const landingPolicy = `default-src 'none'; style-src 'sha256-${hash("sha256", style, "base64")}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

const cloudRow = ({ cloud, levels }: Welcome["clouds"][number]): string =>
  `<tr><th scope="row">${cloudFacts[cloud].title}</th><td>${levels.map((level) => `<code>${escapeHtml(level)}</code>`).join(" ")}</td></tr>`

const trial = (origin: string, model: string | undefined): string => `<h2>Try it</h2>
<p>This is the sandbox: three simulated clouds on this machine. No data leaves it, and the key is <code>sandbox-key</code>.</p>
${model === undefined ? "" : request(origin, model)}`

const request = (
  origin: string,
  model: string
): string => `<pre><code>curl -N ${escapeHtml(origin)}/v1/chat/completions \\
  -H 'x-api-key: sandbox-key' -H 'content-type: application/json' \\
  -d '{"model":"${escapeHtml(model)}","stream":true,
       "messages":[{"role":"user","content":"What can you do?"}]}'</code></pre>`

const documents = ({ links }: Welcome): string => `<a href="${links.docs}">Interactive reference</a>
<a href="${links.openapi}">OpenAPI document</a>
`

const active = (page: Welcome): string => `<h2>What is active</h2>
<p>${page.models} model IDs of the form <code>base_model:level</code>. The level decides which cloud serves a request${page.sandbox ? " (here: simulated clouds)" : ""}.</p>
<table>
${page.clouds.map(cloudRow).join("\n")}
</table>
<p class="soft">With a key, <code>GET /v1/models</code> lists the IDs that it may use.</p>
`

const key = `<h2>A key</h2>
<p>Every request but the health check needs a key in <code>x-api-key</code>. The operator of this gateway issues it.</p>`

/** `origin`: the address that the reader came by; `model`: one for a first chat. */
export const landingPage = (
  page: ReturnType<typeof noticeOf> | Welcome,
  origin: string,
  model: string | undefined
): string => {
  const open = "clouds" in page ? page : undefined
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Government Model Gateway</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Government Model Gateway</h1>
<p class="soft">Hosted language models on government-authorized clouds, at one address. Version ${escapeHtml(page.version)}.</p>
<p class="notice" role="note"><strong>Usage notice.</strong> ${escapeHtml(page.notice)}</p>
<nav aria-label="Documents">
${open === undefined ? "" : documents(open)}<a href="${page.links.health}">Health</a>
</nav>
${open === undefined ? "" : active(open)}${open?.sandbox === true ? trial(origin, model) : key}
</main>
</body>
</html>
`
}
