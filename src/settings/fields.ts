/** Kinds of settings: numbers, times, addresses, and the message for a wrong one. */
import { Config, ConfigProvider, Duration, Redacted, Schema, SchemaTransformation } from "effect"

export const text = (name: string, fallback: string) => Config.String(name).pipe(Config.withDefault(fallback))
export const optional = (name: string) => Config.option(Config.String(name))
export const flag = (name: string, fallback: boolean) => Config.Boolean(name).pipe(Config.withDefault(fallback))
export const oneOf = <const A extends string>(name: string, values: ReadonlyArray<A>, fallback: NoInfer<A>) =>
  Config.Literals(values, name).pipe(Config.withDefault(fallback))
/** A text for which `holds`; the message of any other begins with "must". */
const holding = (schema: Schema.Codec<string>, holds: (value: string) => boolean, message: string) =>
  schema.check(Schema.makeFilter((value) => holds(value) || message))
export const checked = (name: string, holds: (value: string) => boolean, message: string) =>
  Config.schema(holding(Schema.String, holds, message), name)
export const optionalChecked = (...setting: Parameters<typeof checked>) => Config.option(checked(...setting))
/** Where records are written: stdout, or a file. A word by which an operator means something else names no file. */
export const recordsTo = (name: string) =>
  Config.schema(
    holding(
      Schema.Trim,
      (place) => place === "stdout" || !/^(-|on|off|no|none|null|true|false|stdout|stderr|syslog)$/i.test(place),
      "must be stdout or the path of a file, such as usage.jsonl; for a file that is called so, begin with ./"
    ),
    name
  )
/** Of what no message may show. */
const hidden = Config.map((value: string) => Redacted.make(value))
/** A secret, without the line break in which a file of it may end. */
export const requiredSecret = (name: string) => hidden(Config.schema(Schema.Trim, name))
export const secret = (name: string) => Config.option(requiredSecret(name))
export const secretChecked = (...setting: Parameters<typeof checked>) => Config.option(hidden(checked(...setting)))
export const isHeaderText = (value: string): boolean => /^[\x21-\x7e]+$/.test(value)
const headerText = holding(Schema.Trim, isHeaderText, "must be printable ASCII without blanks")
/** A secret that is sent in a header. */
export const token = (name: string) => Config.option(hidden(Config.schema(headerText, name)))
/** The longest time, as a setting has it. */
type Longest = `${number} ${Duration.Unit}` | "Infinity"
/** A time from `least` milliseconds on: 0 where none may be waited for, 1 where zero would end what it limits before it began. */
export const timeBetween = (least: 0 | 1, most: Longest) =>
  Schema.DurationFromString.check(
    Schema.makeFilter((time) => {
      if (Duration.toMillis(time) < least)
        return least === 0 ? "must not be below zero" : "must be at least 1 millisecond"
      return Duration.isLessThanOrEqualTo(time, Duration.fromInputUnsafe(most)) || `must be at most ${most}`
    })
  )
/** Node's timers keep 24.8 days; a longer time fires immediately, as one below zero does. */
const longestTimer = "24 days"
const time = (least: 0 | 1, most: Longest) => (name: string, fallback: Duration.Duration) =>
  Config.schema(timeBetween(least, most), name).pipe(Config.withDefault(fallback))
export const delay = time(0, longestTimer)
export const timeout = time(1, longestTimer)
/** A time that is compared, and never waited for. */
export const age = time(0, "Infinity")
export const count = (name: string, fallback: number) =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isGreaterThan(0)), name).pipe(
    Config.withDefault(fallback)
  )
/** Fails where a value cannot be used, or contradicts another; the message names the setting. */
export const refuse = (message: string) => Config.fail(new ConfigProvider.SourceError({ message }))

/** Port 0 asks the system for a free one. */
export const port = (name: string) =>
  Config.schema(Schema.NumberFromString.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: 65_535 })), name)

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/
/** Whether what is at this host name or address cannot be reached from another machine. */
export const isLoopback = (host: string): boolean => loopback.test(host)
export const isEveryAddress = (host: string): boolean => host === "0.0.0.0" || host === "::"

/** Scheme, host, port and plain path: nothing that a URL's reader would take otherwise than it is written. */
const plainUrl = /^https?:\/\/([\w.-]+|\[[\da-f:]+\])(:\d{1,5})?(\/[\w~-][\w.~-]*)*\/*$/i

/** As a URL parser writes it, but without final slashes and without the final dots of the host, which is the same host. */
const plainly = (url: string) =>
  new URL(url.replace(/^(https?:\/\/[^/:]*?)\.+(?=[:/]|$)/i, "$1")).href.replace(/\/+$/, "")

/** The address of a service: https, or plain http on loopback only. */
export const BaseUrl = Schema.String.check(
  Schema.makeFilter((value) => {
    if (!URL.canParse(value)) return "must be an absolute URL such as https://host.example"
    const url = new URL(value)
    if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
      return "must have no credentials, query or fragment"
    }
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
      return "must be https (plain http is accepted only for a loopback address)"
    }
    return plainUrl.test(value) ? undefined : "must be scheme, host and plain path such as https://host.example/path"
  })
).pipe(Schema.decodeTo(Schema.String, SchemaTransformation.transform({ decode: plainly, encode: (url) => url })))
export const baseUrl = (name: string) => Config.schema(BaseUrl, name)
export const hostOf = (url: string): string => new URL(url).hostname
/** A host as an address has it. */
export const inAddress = (host: string): string => (host.includes(":") ? `[${host}]` : host)
/** The port of an address, also where it names none. */
export const portOf = ({ port, protocol }: URL): number => Number(port) || (protocol === "https:" ? 443 : 80)
