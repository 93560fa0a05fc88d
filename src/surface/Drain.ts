/** Whether the server is going down: `/health` says so, and connections are not kept. */
import { Context, Layer } from "effect"

export class Drain extends Context.Service<
  Drain,
  {
    readonly draining: () => boolean
    readonly begin: () => void
  }
>()("gateway/surface/Drain") {
  static readonly layer = Layer.sync(Drain, () => {
    let draining = false
    return {
      draining: () => draining,
      begin: () => {
        draining = true
      }
    }
  })
}
