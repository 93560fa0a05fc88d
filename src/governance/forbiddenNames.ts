/** The names of parameters that the screen refuses, found however they are spelled, in names and in patterns for names (docs/api.md#tool-screen). */
import type { Slices } from "../wire/slices.ts"
import type { Tick } from "./toolSchema.ts"

/** Escapes, flags, groups, classes, quantifiers, and single characters of a regular expression, of any common kind. */
const tokens =
  /(?:\\u[\da-f]{4})+|\\(?:x[\da-f]{2}|u\{[\da-f]+\}|[0-3][0-7]{2}|p\{[^{}\\\]]*\}|.)|\(\?[a-z-]+\)|\((?:\?(?:[a-z-]*:|>|<?[=!]|P?<[^<>()\]]*>))?|\[(?:\\.|[^\]\\]){0,256}\]|(?:[*+?]|\{\d+(?:,\d*)?\})\??|./gisu
const tokensAndComments = new RegExp(String.raw`\(\?#[^)]*\)?|${tokens.source}`, tokens.flags)

/** The tokens of a pattern. A comment that does not end is none, and the only one: so each character is looked at twice at most. */
function* tokensOf(pattern: string): Generator<string> {
  for (const [token] of pattern.matchAll(tokensAndComments)) {
    if (token.startsWith("(?#") && !token.endsWith(")")) for (const [inner] of token.matchAll(tokens)) yield inner
    else yield token
  }
}

/** Flags and comments, which stand for nothing. */
const isFlags = /^\(\?.*\)$/s
const isQuantifier = /^(?:[*+?]|\{\d)/
/** Of quantifiers, those that take no character twice. */
const isOnce = /^(?:\?|\{[01](?:,[01])?\})/

/** The characters that a token stands for: none where it marks a place, undefined where they are many. */
const spelled = (token: string): string | undefined => {
  if (token[0] !== "\\") return token === "^" || token === "$" ? "" : token === "." ? undefined : token
  if (/^\\u[\da-f]/i.test(token)) {
    const units = token.slice(2).split(/\\u/i)
    return String.fromCharCode(...units.map((hex) => Number.parseInt(hex, 16)))
  }
  const [, hex, octal = ""] = /^\\(?:[xu]\{?([\da-f]+)|(\d{3}))/i.exec(token) ?? []
  const code = hex === undefined ? Number.parseInt(octal, 8) : Number.parseInt(hex, 16)
  if (code <= 0x10_ff_ff) return String.fromCodePoint(code)
  return /^\\[bAZ]/i.test(token) ? "" : /^\\[dwspkcnrtfv\d]/i.test(token) ? undefined : token.slice(1)
}

/**
 * Finds listed names letter by letter. A state is the set of places within the listed names that what was read may have led to, one
 * bit each: reading is linear, however many ways there are to read a pattern. `fold` says which letters a character stands for.
 */
const makeNameReader = (names: ReadonlyArray<string>, fold: (character: string) => string) => {
  const masks = new Map<string, bigint>()
  const ends: Array<readonly [name: string, place: bigint]> = []
  let starts = 0n
  let place = 1n
  for (const name of names) {
    starts |= place
    for (const letter of Array.from(name, fold).join("")) {
      masks.set(letter, (masks.get(letter) ?? 0n) | place)
      place <<= 1n
    }
    ends.push([name, place])
    place <<= 1n
  }
  const read = (character: string) => Array.from(fold(character), (letter) => masks.get(letter) ?? 0n)
  const ascii = Array.from({ length: 128 }, (_, code) => read(String.fromCharCode(code)))
  const reached = (state: bigint): string | undefined =>
    state === 0n ? undefined : ends.find(([, end]) => (state & end) !== 0n)?.[0]

  /** The listed name that a name reads as. */
  const inName = (name: string): string | undefined => {
    let state = starts
    for (let at = 0; at < name.length && state !== 0n; at++) {
      const character = String.fromCodePoint(name.codePointAt(at) ?? 0)
      for (const mask of ascii[name.charCodeAt(at)] ?? read(character)) state = (state & mask) << 1n
      at += character.length - 1
    }
    return reached(state)
  }

  /** What each character of a class may stand for: of its ranges the ends are read. */
  const readClass = (token: string): ReadonlyArray<bigint | undefined> => {
    const text = token[1] === "^" ? "" : token.slice(1, -1).replace(/([^\\])-(.)/gsu, "$1$2")
    const letters = Array.from(text.matchAll(tokens), ([part]) => Array.from(spelled(part) ?? "", read)).flat()
    return letters.map(([mask]) => mask)
  }

  /**
   * A listed name that a pattern spells out, however it is grouped and escaped: `^dest(ination)?(_url)?$`. What stands for many
   * characters spells nothing, so that a pattern for any name passes, and so does what a pattern denies.
   */
  function* inPattern(pattern: string, tick: Tick): Slices<string | undefined> {
    const groups: Array<readonly [kind: string, entry: bigint, ended: bigint, lasts: bigint]> = []
    // Where the group began, where its alternatives so far ended, and what stands before and after the last character or group.
    let [entry, ended, before, state] = [starts, 0n, starts, starts]
    // The letters with which the last character or group ends, and those of the alternatives so far.
    let [last, lasts] = [0n, 0n]
    const leave = () => {
      const [kind, outer, others, outerLasts] = groups.pop() ?? ["", starts, 0n, 0n]
      state = (/[=!]$/.test(kind) ? entry : 0n) | (kind.endsWith("!") ? 0n : state | ended)
      ;[before, entry, ended] = [entry, outer, others]
      ;[last, lasts] = [last | lasts, outerLasts]
    }
    for (const token of tokensOf(pattern)) {
      if (tick(4 * token.length)) yield
      if (token === "|") {
        ;[ended, before, state] = [ended | state, entry, entry]
        ;[last, lasts] = [0n, lasts | last]
      } else if (token === ")") leave()
      else if (isFlags.test(token)) continue
      else if (token[0] === "(") {
        groups.push([token, entry, ended, lasts])
        ;[before, entry, ended] = [state, state, 0n]
        ;[last, lasts] = [0n, 0n]
      } else if (isQuantifier.test(token)) {
        // A listed name has a letter twice in a row at most.
        if (!isOnce.test(token)) state |= (state & last) << 1n
        if (/^(?:[*?]|\{0)/.test(token)) state |= before
      } else if (/^\[./s.test(token)) {
        const masks = readClass(token)
        ;[before, last] = [state, masks.reduce<bigint>((all, mask) => all | (mask ?? 0n), 0n)]
        state = ((state & last) << 1n) | (masks.includes(undefined) ? state : 0n)
      } else {
        const text = spelled(token)
        if (text === undefined) [before, state, last] = [state, 0n, 0n]
        for (const character of text ?? "") {
          before = state
          for (const mask of read(character)) [last, state] = [mask, (state & mask) << 1n]
        }
      }
    }
    while (groups.length > 0) leave()
    return reached(state | ended)
  }
  return { inName, inPattern }
}

/**
 * Characters that are drawn like a Latin letter and that Unicode's compatibility decomposition does not map to one. Each word is
 * a Latin letter followed by its look-alikes (a selection from Unicode's confusables, UTS #39). Capitals are listed apart from
 * small letters, because they may look like another letter: `Н` is an H, `η` an n.
 */
const drawnLike = [
  "aаɑαᴀ AАΑꓮᎪ bЬьвβʙƅɓƀ BВΒꓐᏴ cсᴄϲↄƈȼ CСϹꓚᏟ dԁđᴅɗᏧ DĐꓓᎠ eеєεᴇɛɇ EЕΕꓰᎬ fƒꜰ Fꓝ gɡɢցɠ GꓖᏀ hһհʜᏂɦħ HНΗꓧᎻ",
  "iіιıɪɨ IІΙꓲᎥ jјᴊ JЈꓙᎫ kкκᴋƙ KКΚꓗᏦ lӏłʟɫ1 LŁꓡᏞ mмᴍɱ MМΜꓟᎷ nпηոɴɲ NΝꓠ oоοօσøᴏ0 OОΟØՕꓳ pрρᴘƥ PРΡꓑᏢ qԛ rгʀɽɍ",
  "RꓣᎡ sѕꜱʂ SЅꓢᏕᏚ tтτᴛƭŧ TТΤꓔᎢ uυսᴜʉ UՍꓴ vѵνᴠʋ VꓦᏙ wԝѡωաᴡⱳ WԜꓪᎳᏔ xхχ XХΧꓫ yуүγʏƴɏ YУΥҮꓬᎩᎽ zᴢȥƶ ZΖꓜᏃ"
]
  .flatMap((line) => line.split(" "))
  .flatMap(([letter = "", ...others]) => others.map((other): [string, string] => [other, letter]))

/** Where the alphabets in negative circles, in negative squares and of regional indicators begin. */
const enclosed = [0x1f150, 0x1f170, 0x1f1e6].flatMap((first) =>
  Array.from("abcdefghijklmnopqrstuvwxyz", (letter, at): [string, string] => [String.fromCodePoint(first + at), letter])
)

const lookAlikes = new Map([...drawnLike, ...enclosed])

/** Unicode's full case folding: `ſ` is an s, the Kelvin sign a k, `ﬆ` is st. */
const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase()

/**
 * What a reader sees in a character: compatibility forms and accents resolved, look-alikes made Latin, lower case, and nothing but
 * letters and digits. So `webhookUrl`, `webhook-url`, `ｗｅｂｈｏｏｋ＿ｕｒｌ` and a name with invisible characters in it all read `webhookurl`.
 */
const foldLetters = (character: string): string => {
  let letters = ""
  for (const part of character.normalize("NFKD"))
    letters += lookAlikes.get(part) ?? (/[\p{L}\p{N}]/u.test(part) ? part : "")
  return letters === "" ? "" : foldCase(letters).replace(/[^\p{L}\p{N}]|\p{Default_Ignorable_Code_Point}/gu, "")
}

/** The parameter names that describe an outbound destination (docs/api.md#tool-screen). */
export const forbiddenNames: ReadonlyArray<string> = [
  ...["destination", "destination_url", "dest_url", "dst_url"],
  ...["webhook", "webhook_url", "webhooks"],
  ...["callback", "callback_url"],
  ...["forward_to", "forward_url", "send_to", "post_to", "push_to"],
  ...["target_url", "target_host"],
  ...["upload_url", "ingest_url", "notification_url", "notify_url", "report_url", "sink_url"],
  ...["exfil_url", "exfiltrate"]
]

/** `spec` compares names case-insensitively; `strict` also sees through spelling tricks (see `foldLetters`). */
export type ScreenMode = "spec" | "strict"

/** By mode. */
export const readers = {
  spec: makeNameReader(forbiddenNames, foldCase),
  strict: makeNameReader(forbiddenNames, foldLetters)
}
