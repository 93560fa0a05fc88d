/** How a simulated cloud is reached: its settings, and credentials that are made anew at each start. */
import { randomBytes } from "node:crypto"
import type { CloudRequest, Reply } from "../http.ts"

export interface SimulatedCloud {
  readonly answer: (request: CloudRequest) => Promise<Reply> | Reply
  /** The settings of a gateway for it. */
  readonly environment: (url: string) => Readonly<Record<string, string>>
  /** A token that it takes. */
  readonly bearer: string
}

export const secret = (prefix = ""): string => prefix + randomBytes(24).toString("hex")
