/** Ends calls from outside, with the failure that whoever reads them will see: deadlines, a revoked key, a drain. */
import type { GatewayError } from "../model/GatewayError.ts"

type Call = (error: GatewayError) => void

export class Stopper {
  /** Whether a call has been sent to a cloud, which may work on it then. */
  sent = false
  private stopped: GatewayError | undefined
  /** A few at most. */
  private calls: ReadonlyArray<Call> = none

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
  watch(call: Call): void {
    if (this.stopped !== undefined) call(this.stopped)
    else this.calls = this.calls.length === 0 ? [call] : [...this.calls, call]
  }

  forget(call: Call): void {
    this.calls = this.calls.length === 1 && this.calls[0] === call ? none : this.calls.filter((other) => other !== call)
  }
}

const none: ReadonlyArray<Call> = []
