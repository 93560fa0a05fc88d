import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { hasRedis, testRedis } from "../limits/redis.ts"
import { type Browser, hasBrowser, startBrowser } from "../support/browser.ts"
import { open as post } from "../support/http.ts"
import { type GatewayProcess, message, startProcess } from "../telemetry/support.ts"

let gateway: GatewayProcess
let page = ""
const send = async (body: unknown) => (await post(`${gateway.url}/v1/messages`, body)).text()

const folder = mkdtempSync(join(tmpdir(), "gateway-status-"))
beforeAll(async () => {
  const prices = { currency: "USD", date: "2026-11-01", input: 3, output: 15 }
  const overlay = join(folder, "overlay.json")
  writeFileSync(overlay, JSON.stringify({ models: { "claude-sonnet-4-5": { bedrock: { prices } } } }))
  gateway = await startProcess({
    GATEWAY_METRICS_PORT: "0",
    GATEWAY_WORKERS: "2",
    GATEWAY_CATALOG_OVERLAY: overlay
  })
  page = gateway.metrics().replace("/metrics", "/")
  const calls = Array.from({ length: 8 }, () => send(message("A secret word", { stream: true })))
  await Promise.all(calls)
  await send(message("[sandbox: status=529]", { model: "claude-haiku-4-5:il2" }))
  await send(message("Hello", { model: "nothing:il5" }))
  await send(
    message('[sandbox: tool=send args={"to":"https://a.example"}]', {
      tools: [{ name: "send", input_schema: { type: "object" } }]
    })
  )
}, 40_000)
afterAll(async () => {
  await gateway.stop()
  rmSync(folder, { recursive: true })
})

/** The first event for which it holds. */
const eventThat = async (holds: (view: ReturnType<typeof Object>) => boolean, at = page) => {
  const abort = new AbortController()
  const response = await fetch(`${at}events`, { signal: abort.signal })
  assert.strictEqual(response.headers.get("content-type"), "text/event-stream; charset=utf-8")
  let text = ""
  try {
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      const end = text.indexOf("\n\n")
      if (end < 0) continue
      const view = JSON.parse(text.slice("data: ".length, end))
      if (holds(view)) return { view, text: text.slice(0, end) }
      text = text.slice(end + 2)
    }
  } finally {
    abort.abort()
  }
  return assert.fail("the events ended")
}

const total = (view: ReturnType<typeof Object>) =>
  view.deployments.reduce((sum: number, { hour }: { hour: { requests: number } }) => sum + hour.requests, 0)

describe("the status page", () => {
  it("shows the requests of all workers, and no payload", async () => {
    const { text, view } = await eventThat((view) => total(view) === 10)
    assert.lengthOf(view.processes, 2)
    assert.isTrue(view.setup.sandbox)
    assert.strictEqual(view.setup.catalog.ids, 114)
    assert.isAtMost(view.setup.keys.since, Date.now())
    const of = (model: string, cloud: string) =>
      view.deployments.find((one: { model: string; cloud: string }) => one.model === model && one.cloud === cloud)
    const busy = of("claude-sonnet-4-5", "bedrock")
    assert.deepStrictEqual([busy.region, busy.hour.requests, busy.hour.failures], ["us-gov-west-1", 9, 0])
    assert.isAtMost(busy.hour.p50, busy.hour.p95)
    assert.isAtMost(busy.hour.first50, busy.hour.p95)
    assert.lengthOf(busy.hour.minutes.requests, 60)
    assert.include(of("claude-haiku-4-5", "vertex").lastError, { code: "upstream-error", status: 502 })
    assert.deepStrictEqual(view.refusals, [{ name: "invalid", count: 1 }])
    assert.deepStrictEqual(view.flags, [{ name: "messages", count: 1 }])
    for (const word of ["secret word", "sandbox-key", "a.example"]) assert.notInclude(text, word)
  })

  it("is itself and its events, and lets a browser load nothing else", async () => {
    const response = await fetch(page)
    const html = await response.text()
    const policy = response.headers.get("content-security-policy") ?? ""
    assert.match(
      policy,
      /^default-src 'none'; script-src 'sha256-[\w+/=]+'; style-src 'sha256-[\w+/=]+';.* connect-src 'self';/
    )
    assert.notMatch(policy, /unsafe|https?:/)
    assert.notMatch(html, /https?:\/\/(?!www\.w3\.org\/2000\/svg)/)
    assert.strictEqual((await fetch(page, { method: "POST" })).status, 405)
    assert.strictEqual((await fetch(`${page}x`)).status, 404)
  })

  it("is not read by a page that comes by a name of its own", async () => {
    const status = await new Promise((resolve) => {
      request(page, { headers: { host: "rebound.example" } }, (response) => resolve(response.resume().statusCode)).end()
    })
    assert.strictEqual(status, 421)
  })
})

describe.skipIf(!hasRedis)("with Redis, the status page", () => {
  it("shows every replica", async () => {
    const redis = await testRedis()
    const settings = { GATEWAY_METRICS_PORT: "0", GATEWAY_REDIS_URL: redis.url }
    const replicas = await Promise.all([startProcess(settings), startProcess(settings)])
    try {
      for (const { url } of replicas) await (await post(`${url}/v1/messages`, message("Hello"))).text()
      const [one] = replicas
      const { view } = await eventThat((view) => total(view) === 2, one?.metrics().replace("/metrics", "/"))
      assert.lengthOf(view.processes, 2)
      assert.strictEqual(view.setup.store, "Redis")
    } finally {
      await Promise.all(replicas.map(({ stop }) => stop()))
      await redis.stop()
    }
  }, 40_000)
})

describe.skipIf(!hasBrowser)("in a browser, the status page", () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await startBrowser()
  }, 40_000)
  afterAll(() => browser.stop())

  it("draws its events, can be used by keyboard, and has both schemes", async () => {
    // The store is read every ten seconds.
    await eventThat(({ use }) => use.some(({ cost }: { cost?: number }) => cost !== undefined))
    const shown = await browser.open(page)
    await shown.until("document.querySelectorAll('#rows svg').length > 0")
    const all = Number(await shown.evaluate("document.querySelectorAll('#rows tr').length"))
    assert.isAbove(all, 10)
    assert.match(String(await shown.evaluate("document.querySelector('#live').textContent")), /^live, /)
    assert.match(String(await shown.evaluate("document.body.innerText")), /upstream-error/)

    const focused = () => shown.evaluate("document.activeElement.id || document.activeElement.className")
    const path: Array<unknown> = []
    for (let n = 0; n < 3; n++) {
      await shown.press("Tab")
      path.push(await focused())
    }
    assert.deepStrictEqual(path, ["skip", "busy", "deployments"])
    await shown.evaluate("document.getElementById('busy').focus()")
    await shown.press(" ")
    await shown.until("document.querySelectorAll('#rows tr').length === 2")

    const text = String(await shown.evaluate("document.body.innerText"))
    assert.match(text, /USD\s\d/)
    for (const period of ["now", "last hour", "since the start"]) assert.include(text, period)

    // A key may have a limit on cost where no price is in force.
    const unpriced = "delete view.setup.currency; show(); document.querySelector('#use').innerText"
    assert.match(String(await shown.evaluate(unpriced)), /\t\d+\t0\.\d+$/)

    const papers: Array<unknown> = []
    for (const scheme of ["light", "dark"] as const) {
      await shown.scheme(scheme)
      papers.push(await shown.evaluate("getComputedStyle(document.body).backgroundColor"))
      const image = await shown.screenshot()
      assert.isAbove(image.length, 10_000)
      const to = process.env.GATEWAY_TEST_SCREENSHOTS
      if (to !== undefined) writeFileSync(`${to}/status-${scheme}.png`, image)
    }
    assert.strictEqual(new Set(papers).size, 2)

    await shown.width(390)
    // What is not on the screen would have to be scrolled to, sideways.
    const outside = `[...document.querySelectorAll("#rows *, #tiles *, .columns section *")]
      .filter((one) => one.getBoundingClientRect().right > innerWidth).map(({ outerHTML }) => outerHTML).join("\\n")`
    assert.strictEqual(await shown.evaluate(outside), "")
    assert.strictEqual(await shown.evaluate("document.documentElement.scrollWidth"), 390)
    const columns = `[...document.querySelectorAll("#rows tr:first-child td")].map((one) => getComputedStyle(one, "::before").content).join()`
    assert.strictEqual(await shown.evaluate(columns), '"Breaker","Requests","Duration","First token","Last error"')
    const times = String(await shown.evaluate("document.querySelector('.times:has(svg)').textContent"))
    assert.match(times, /^p50\u00a0\S+\u00a0m?s, p95\u00a0\S+\u00a0m?s$/)
    const to = process.env.GATEWAY_TEST_SCREENSHOTS
    if (to !== undefined) writeFileSync(`${to}/status-narrow.png`, await shown.screenshot())
    assert.deepStrictEqual(shown.complaints(), [])
    assert.deepStrictEqual([...shown.requested()], [page, `${page}events`])
  }, 40_000)
})
