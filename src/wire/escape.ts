/** Text of a caller's or a cloud's in lines that people and programs read: it can neither end the line nor control a terminal. */

/** Control and format characters, line separators, lone surrogates: as escapes of JSON. */
export const escapeControls = (text: string): string =>
  /^[ -~]*$/.test(text)
    ? text
    : text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
        Array.from(
          { length: character.length },
          (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
        ).join("")
      )

/** The same for JSON, in which the control characters of ASCII are escapes already, but for the last. */
export const escapeJson = (json: string): string =>
  Buffer.byteLength(json) === json.length && !json.includes("\u007f") ? json : escapeControls(json)
