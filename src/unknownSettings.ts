/** Which variables are settings, and which look like settings and are none. */
import { ConfigProvider, Effect } from "effect"
import { cloudFacts, clouds, isCloudSetting } from "./catalog/clouds.ts"
import { config, type Environment, isSet, provider } from "./Settings.ts"
import { nearest } from "./wire/nearest.ts"

/** The names that are read: what the settings ask of an environment in which every cloud is active. */
export const settingNames = (): ReadonlySet<string> => {
  const names = new Set<string>()
  const active = provider(Object.fromEntries(clouds.map((cloud) => cloudFacts[cloud].setting)))
  const recording = ConfigProvider.make((path) => {
    names.add(path.join("_"))
    return active.load(path)
  })
  Effect.runSync(Effect.provide(config, ConfigProvider.layer(recording)))
  return names
}

/** The settings of which this environment has a value. */
export const settingsIn = (environment: Environment): ReadonlyArray<string> =>
  [...settingNames()].filter((name) => isSet(environment[name])).sort()

/** Read by `chat`, and by the tests. */
const elsewhere = /^GATEWAY_(API_KEY|TEST_.*)$/

/**
 * A line for each variable that looks like a setting and is none: typing errors, which would otherwise go unseen. Of the gateway's
 * own prefix all unknown names; of the clouds' prefixes, which other programs use too, near misses.
 */
export const unknownSettingLines = (environment: Environment): ReadonlyArray<string> => {
  const known = settingNames()
  const ofCloud = [...known].filter(isCloudSetting)
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || elsewhere.test(name)) return []
    const own = name.startsWith("GATEWAY_")
    const meant = nearest(name, own ? known : ofCloud)
    if (!own && meant === undefined) return []
    return `${name} is not a setting of the gateway${meant === undefined ? "" : ` (is ${meant} meant?)`}; docs/operation.md lists them`
  })
}

/** A line for each cloud that has settings, and not the one without which it is not active. */
export const idleSettingLines = (environment: Environment): ReadonlyArray<string> =>
  clouds.flatMap((cloud) => {
    const [activates] = cloudFacts[cloud].setting
    const prefix = activates.slice(0, activates.lastIndexOf("_") + 1)
    const idle = settingsIn(environment).filter((name) => name.startsWith(prefix))
    return idle.length === 0 || idle.includes(activates)
      ? []
      : `${idle.join(", ")}: without ${activates} ${cloudFacts[cloud].title} is not active`
  })
