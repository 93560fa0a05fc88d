/** A headless Chromium, driven by its own protocol; tests that need one are skipped where there is none. */
import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const names = [process.env.GATEWAY_TEST_CHROMIUM ?? "", "chromium", "chromium-browser", "google-chrome"]
const found = names.find((name) => name !== "" && spawnSync(name, ["--version"]).status === 0)

export const hasBrowser = found !== undefined
if (!hasBrowser) console.warn("Browser tests are skipped: install chromium, or set GATEWAY_TEST_CHROMIUM")

export interface Page {
  /** The value of an expression in the page. */
  readonly evaluate: (expression: string) => Promise<unknown>
  /** Waits until an expression is true; rejects after 10 seconds. */
  readonly until: (expression: string) => Promise<void>
  readonly press: (key: "Tab" | " " | "Enter") => Promise<void>
  /** In CSS pixels; 1280 at first. */
  readonly width: (width: number) => Promise<void>
  readonly scheme: (scheme: "light" | "dark") => Promise<void>
  /** PNG, of the whole page. */
  readonly screenshot: () => Promise<Buffer>
  /** Everything that was asked for so far. */
  readonly requested: () => ReadonlyArray<string>
  /** Errors of the console and of the content security policy so far. */
  readonly complaints: () => ReadonlyArray<string>
}

export interface Browser {
  readonly open: (url: string) => Promise<Page>
  readonly stop: () => Promise<void>
}

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly message: string }
}

const connect = async (url: string) => {
  const socket = new WebSocket(url)
  await new Promise<void>((resolve, reject) => {
    socket.addEventListener("open", () => resolve(), { once: true })
    socket.addEventListener("error", () => reject(new Error("the browser does not answer")), { once: true })
  })
  let last = 0
  const waiting = new Map<number, (message: Message) => void>()
  const heard: Array<Message> = []
  socket.addEventListener("message", ({ data }) => {
    const message: Message = JSON.parse(String(data))
    if (message.id === undefined) heard.push(message)
    else waiting.get(message.id)?.(message)
  })
  const call = (method: string, params: Readonly<Record<string, unknown>> = {}) =>
    new Promise<Readonly<Record<string, unknown>>>((resolve, reject) => {
      const id = ++last
      waiting.set(id, ({ error, result = {} }) => {
        waiting.delete(id)
        if (error === undefined) resolve(result)
        else reject(new Error(`${method}: ${error.message}`))
      })
      socket.send(JSON.stringify({ id, method, params }))
    })
  return { call, heard, close: () => socket.close() }
}

const keys = {
  Tab: { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 },
  " ": { key: " ", code: "Space", windowsVirtualKeyCode: 32, text: " " },
  Enter: { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" }
}

const openPage = async (debuggerUrl: string, url: string): Promise<Page> => {
  const { call, heard } = await connect(debuggerUrl)
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await call(`${domain}.enable`)
  const setWidth = async (width: number) => {
    await call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: width < 600 })
  }
  await setWidth(1280)
  await call("Page.navigate", { url })
  const evaluate = async (expression: string): Promise<unknown> => {
    const { exceptionDetails, result } = await call("Runtime.evaluate", { expression, returnByValue: true })
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails))
    return Object(result).value
  }
  const textOf = ({ method, params }: Message): string | undefined =>
    method === "Runtime.exceptionThrown" || (method === "Log.entryAdded" && Object(params?.entry).level === "error")
      ? JSON.stringify(params)
      : undefined
  return {
    evaluate,
    until: async (expression) => {
      for (let n = 0; n < 200; n++) {
        if ((await evaluate(expression)) === true) return
        await sleep(50)
      }
      throw new Error(`did not become true: ${expression}`)
    },
    press: async (key) => {
      await call("Input.dispatchKeyEvent", { type: "keyDown", ...keys[key] })
      await call("Input.dispatchKeyEvent", { type: "keyUp", ...keys[key] })
    },
    width: setWidth,
    scheme: async (value) => {
      await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] })
    },
    screenshot: async () => {
      const { data } = await call("Page.captureScreenshot", { format: "png", captureBeyondViewport: true })
      return Buffer.from(String(data), "base64")
    },
    requested: () =>
      heard
        .filter(({ method }) => method === "Network.requestWillBeSent")
        .map(({ params }) => String(Object(params?.request).url)),
    complaints: () => heard.map(textOf).filter((text) => text !== undefined)
  }
}

/** Starts one; its profile is thrown away. */
export const startBrowser = async (): Promise<Browser> => {
  const profile = mkdtempSync(join(tmpdir(), "gateway-browser-"))
  const child = spawn(
    found ?? "chromium",
    [
      ...["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"],
      ...["--disable-background-networking", "--remote-debugging-port=0", `--user-data-dir=${profile}`, "about:blank"]
    ],
    { stdio: ["ignore", "ignore", "pipe"] }
  )
  let output = ""
  child.stderr.on("data", (text) => {
    output += text
  })
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()))
  const address = /DevTools listening on ws:\/\/([\d.:]+)\//
  for (let n = 0; !address.test(output); n++) {
    if (n > 400) throw new Error(`no browser: ${output}`)
    await sleep(50)
  }
  const at = address.exec(output)?.[1] ?? ""
  return {
    open: async (url) => {
      const target = await fetch(`http://${at}/json/new?about:blank`, { method: "PUT" }).then((reply) => reply.json())
      return openPage(String(Object(target).webSocketDebuggerUrl), url)
    },
    stop: async () => {
      child.kill("SIGKILL")
      await ended
      rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    }
  }
}
