/** Why a port cannot be listened on, and what would work. */
import { messageOf, OperatorError } from "./wire/OperatorError.ts"

export const listenError = (
  setting: "GATEWAY_PORT" | "GATEWAY_METRICS_PORT",
  { host, port }: { readonly host: string; readonly port: number },
  cause: unknown
): OperatorError => {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  const hostSetting = setting.replace("PORT", "HOST")
  const next = setting === "GATEWAY_METRICS_PORT" ? "; each worker takes the next one" : ""
  const advice: Readonly<Record<string, string>> = {
    EADDRINUSE: `the port is taken. Stop what listens there, or set ${setting} to another port (0 takes a free one${next})`,
    EACCES: `not allowed. Set ${setting} to a port above 1023`,
    EADDRNOTAVAIL: `not an address of this machine. Set ${hostSetting} to one, or to 0.0.0.0 for all`,
    ENOTFOUND: `there is no such host. Set ${hostSetting} to an address of this machine`
  }
  return new OperatorError({ message: `cannot listen on ${host}:${port}: ${advice[String(code)] ?? messageOf(cause)}` })
}
