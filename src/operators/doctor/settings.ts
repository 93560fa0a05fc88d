/** Checks of what the settings say: names, clouds, catalog, and what the partition table leaves out. */
import { Effect, type Result } from "effect"
import type { Catalog } from "../../catalog/Catalog.ts"
import { type CatalogError, catalogSource, leftOutLines } from "../../catalog/CatalogStore.ts"
import { cloudSettings } from "../../catalog/clouds.ts"
import { formatBoundary } from "../../catalog/Level.ts"
import { requestable } from "../../catalog/Resolver.ts"
import type { Environment, GatewaySettings } from "../../Settings.ts"
import {
  activeClouds,
  addressesOf,
  type CloudSettings,
  loopbacksOf,
  loopbackWarning,
  requireCloud,
  sitesOf
} from "../../settings/clouds.ts"
import { idleSettingLines, settingsIn, unknownSettingLines } from "../../unknownSettings.ts"
import { type Found, fail, ok, orFail, orStartFails, warn } from "./Finding.ts"

/** `problem`: why settings could not be read. */
export const settingsFound = (environment: Environment, problem: string | undefined): ReadonlyArray<Found> => {
  const unknown = unknownSettingLines(environment).map((line) => warn(line, "Correct its name, or unset it."))
  const idle = idleSettingLines(environment).map((line) => warn(line, "Set it too, or unset the others."))
  const set = settingsIn(environment)
  const first =
    problem === undefined
      ? ok(set.length === 0 ? "all are at their defaults" : `set: ${set.join(", ")}`)
      : fail(problem, "Correct it: docs/operation.md#settings has every setting. The other checks need it.")
  return [first, ...idle, ...unknown]
}

const choose = `Set ${cloudSettings}.`
const loopbackFix = "Unset it, unless what listens there leads to that cloud."

export const cloudsFound = Effect.fnUntraced(function* (settings: GatewaySettings, clouds: CloudSettings) {
  yield* requireCloud(settings, clouds)
  if (activeClouds(clouds).size === 0) {
    return [
      warn("no cloud is configured: the sandbox starts", `${choose} For a trial nothing needs to be done.`),
      ok("the sandbox's clouds and their credentials are made at each start; --live asks them")
    ]
  }
  const sites = sitesOf(clouds)
  const found = addressesOf(clouds).map(({ cloud, declared }) =>
    ok(`${cloud} at ${sites[cloud]?.place}${declared === undefined ? "" : `, declared ${formatBoundary(declared)}`}`)
  )
  return settings.sandbox === "on"
    ? [...found, warn("GATEWAY_SANDBOX is on: they are neither used nor checked", "Unset it.")]
    : [...found, ...loopbacksOf(clouds).map((at) => warn(loopbackWarning(at), loopbackFix))]
}, orStartFails(choose))

export const catalogFound = Effect.fnUntraced(function* (
  settings: GatewaySettings,
  clouds: CloudSettings,
  loaded: Result.Result<Catalog, CatalogError>
) {
  const catalog = yield* Effect.fromResult(loaded)
  const { list, leftOut } = requestable(catalog, sitesOf(clouds))
  const source = catalogSource(settings)
  const where = clouds.simulated ? "by the sandbox" : "here"
  const first =
    list.length === 0 && activeClouds(clouds).size > 0
      ? fail(
          `${source}: no model ID can be served here`,
          "See npm run gateway -- catalog check, and docs/operation.md#what-may-serve-what."
        )
      : ok(`${source}: ${catalog.models.length} models, ${list.length} IDs served ${where}`)
  const fix = "Use a region or endpoint that may serve these levels, or take them out of the catalog."
  return [first, ...leftOutLines(leftOut).map((line) => warn(line, fix))]
}, orFail("Correct the file; catalog check FILE says more."))
