/** Ends calls from outside, with the failure that whoever reads them will see: deadlines, a revoked key, a drain. */
import type { GatewayError } from "../model/GatewayError.ts"

export class Stopper {
  /** Whether a call has been sent to a cloud, which may work on it then. */
  sent = false
  private stopped: GatewayError | undefined
  private readonly calls = new Set<(error: GatewayError) => void>()

  get error(): GatewayError | undefined {
    return this.stopped
  }

  /** The first reason counts. */
  readonly stop = (error: GatewayError): void => {
    if (this.stopped !== undefined) return
    this.stopped = error
    for (const call of this.calls) call(error)
  }

  /** Calls back when it is stopped, at once if it has been. */
  readonly watch = (call: (error: GatewayError) => void): void => {
    if (this.stopped !== undefined) call(this.stopped)
    else this.calls.add(call)
  }

  readonly forget = (call: (error: GatewayError) => void): void => {
    this.calls.delete(call)
  }
}
