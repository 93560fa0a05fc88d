/** Checks of what the settings say: names, clouds, catalog, and what the partition table leaves out. */
import { Effect, Option } from "effect"
import { formatBoundary } from "../model/Boundary.ts"
import { clouds as allClouds } from "../model/Catalog.ts"
import { leftOutLines, loadCatalog } from "../model/CatalogStore.ts"
import { requestable } from "../model/Resolver.ts"
import type { Environment, GatewaySettings } from "../Settings.ts"
import { activeClouds, type CloudSettings, sitesOf } from "../settings/clouds.ts"
import { isLoopback } from "../settings/fields.ts"
import { settingNames, unknownSettingLines } from "../unknownSettings.ts"
import { type Check, fail, ok, warn } from "./Finding.ts"

/** Settings that were read; `problem` in words where they could not be. */
export const settingsCheck = (environment: Environment, problem: string | undefined): Check => ({
  name: "settings",
  look: Effect.sync(() => {
    const unknown = unknownSettingLines(environment).map((what) => warn(what, "Correct its name, or unset it."))
    if (problem !== undefined) {
      const mend = "Correct it: docs/operation.md#settings has every setting. The other checks need it."
      return [fail(problem, mend), ...unknown]
    }
    const known = settingNames()
    const set = Object.keys(environment).filter((name) => known.has(name) && environment[name] !== "")
    return [ok(set.length === 0 ? "all are at their defaults" : `set: ${set.sort().join(", ")}`), ...unknown]
  })
})

const noCloud = "Set VERTEX_PROJECT, BEDROCK_REGION or AZURE_OPENAI_ENDPOINT."

/** What is active and where, and whether anything is. */
export const cloudsCheck = ({ host, sandbox }: GatewaySettings, clouds: CloudSettings): Check => ({
  name: "clouds",
  look: Effect.sync(() => {
    const active = activeClouds(clouds)
    if (active.size === 0) {
      if (sandbox === "off") return fail("no cloud is configured, and GATEWAY_SANDBOX is off: the start fails", noCloud)
      if (sandbox === "auto" && !isLoopback(host)) {
        return fail(`no cloud is configured, and ${host} is not loopback: the start fails`, noCloud)
      }
      return warn("no cloud is configured: the sandbox starts", `${noCloud} For a trial nothing needs to be done.`)
    }
    const sites = sitesOf(clouds)
    const found = allClouds.flatMap((cloud) => {
      const site = sites[cloud]
      if (site === undefined) return []
      const declared = site.declared === undefined ? "" : `, declared ${formatBoundary(site.declared)}`
      return [ok(`${cloud} at ${site.place}${declared}`)]
    })
    return sandbox === "on" ? [...found, warn("GATEWAY_SANDBOX is on: they are not asked", "Unset it.")] : found
  })
})

/** The catalog and the IDs that it gives here. */
export const catalogCheck = ({ catalogFile }: GatewaySettings, clouds: CloudSettings): Check => ({
  name: "catalog",
  look: loadCatalog(catalogFile).pipe(
    Effect.map((catalog) => {
      const { list, leftOut } = requestable(catalog, sitesOf(clouds))
      const source = Option.getOrElse(catalogFile, () => "shipped")
      const left = leftOutLines(leftOut).map((what) =>
        warn(what, "Use a region or endpoint that may serve these levels, or take them out of the catalog.")
      )
      if (list.length === 0 && activeClouds(clouds).size > 0) {
        const none = fail(
          `${source}: no model ID can be served here`,
          "See npm run gateway -- catalog check, and docs/operation.md#what-may-serve-what."
        )
        return [none, ...left]
      }
      return [ok(`${source}: ${catalog.models.length} models, ${list.length} IDs served here`), ...left]
    }),
    Effect.catch(({ message }) => Effect.succeed(fail(message, "Correct the file; catalog check FILE says more.")))
  )
})
