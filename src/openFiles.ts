/** Whether this process may open as many files as its requests take: the system resets connections beyond that, without a trace in the log. */
import { readFileSync } from "node:fs"
import type { GatewaySettings } from "./Settings.ts"

/** Node raises the soft limit to the hard one when it starts, so this is what the gateway has. */
export const openFilesLimit = (): string | undefined => {
  try {
    return /^Max open files\s+(\S+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]
  } catch {
    return undefined
  }
}

/** A request takes a connection of its caller and one to a cloud. Undefined where they are enough, or the system does not say. */
export const tooFewFiles = ({ maxInFlight, workers }: Pick<GatewaySettings, "maxInFlight" | "workers">) => {
  const limit = Number(openFilesLimit())
  const needed = 2 * Math.ceil(maxInFlight / workers)
  if (!(limit < needed)) return undefined
  return {
    message: `${limit} may be open, and GATEWAY_MAX_IN_FLIGHT takes up to ${needed} in each process`,
    fix: `Raise it (ulimit -n ${needed}, or LimitNOFILE), or set GATEWAY_MAX_IN_FLIGHT to ${Math.floor(limit / 2) * workers}.`
  }
}
