/**
 * Servers that the tests of a file (or of the block where they are asked for) share: started before the first, stopped after the
 * last. Until then they are names only, so use them inside of tests.
 */
import { afterAll, beforeAll } from "@effect/vitest"
import { type Detector, startDetector } from "./detector.ts"
import { type FakeUpstream, fakeUpstream, type Handler } from "./fakeUpstream.ts"
import { cloudsAt, type Gateway, type GatewayOptions, startGateway } from "./gateway.ts"

interface Server {
  readonly stop: () => Promise<void>
}

const shared = <A extends Server>(start: () => Promise<A>): A => {
  let started: A | undefined
  beforeAll(async () => {
    started = await start()
  })
  afterAll(() => started?.stop())
  return new Proxy(Object.create(null), {
    get: (_, name) => {
      if (started === undefined) throw new Error(`${String(name)} is there once the tests run`)
      return Reflect.get(started, name)
    }
  })
}

export const sharedDetector = (): Detector => shared(() => startDetector())

/** A gateway, in front of the sandbox unless the settings name clouds. */
export const sharedGateway = (options: GatewayOptions = {}): Gateway => shared(() => startGateway(options))

/** One address that plays all three clouds, and a gateway in front of it with these settings. */
export const sharedUpstream = (
  settings: Readonly<Record<string, string>> = {},
  handler: Handler = () => {}
): { readonly upstream: FakeUpstream; readonly gateway: Gateway } => {
  const upstream = shared(() => fakeUpstream(handler))
  return { upstream, gateway: sharedGatewayAt(upstream, settings) }
}

/** Another gateway in front of that address. */
export const sharedGatewayAt = (upstream: FakeUpstream, settings: Readonly<Record<string, string>>): Gateway =>
  shared(() => startGateway({ settings: { ...cloudsAt(upstream.url), ...settings } }))
