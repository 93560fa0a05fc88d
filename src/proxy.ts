/**
 * One rule for proxies (docs/operation.md#proxies): requests to clouds and for credentials go through `GATEWAY_HTTPS_PROXY`, or
 * directly where that is not set. Libraries that read the usual variables find the same.
 */
import { Option, Redacted } from "effect"
import { setGlobalProxyFromEnv } from "./nodeHttp.ts"
import { changeEnvironment, type GatewaySettings } from "./Settings.ts"

/** This machine, and the addresses at which clouds give a machine its identity: no proxy stands for it there. */
const unproxied = [
  ...["localhost", "127.0.0.1", "::1", "[::1]"],
  ...["169.254.169.254", "metadata.google.internal", "metadata.google.internal."],
  ...["169.254.170.2", "169.254.170.23", "[fd00:ec2::254]", "[fd00:ec2::23]"]
].join(",")

const usual = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"].flatMap((name) => [name, name.toLowerCase()])

/** For the whole process, before any library is loaded. */
export const applyProxyRule = ({ httpsProxy }: Pick<GatewaySettings, "httpsProxy">): void => {
  changeEnvironment(Object.fromEntries(usual.map((name) => [name, undefined])))
  if (Option.isNone(httpsProxy)) return
  // google-auth-library reads the environment; MSAL uses `fetch`, and AWS's library Node's agent.
  changeEnvironment({ HTTPS_PROXY: Redacted.value(httpsProxy.value), NO_PROXY: unproxied })
  setGlobalProxyFromEnv({ https_proxy: Redacted.value(httpsProxy.value), no_proxy: unproxied })
}

/** The proxy without its password, for people. */
export const shownProxy = (url: Redacted.Redacted<string>): string => new URL(Redacted.value(url)).origin
