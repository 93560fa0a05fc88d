/** Lines of `chat` that are commands, not messages for the model (docs/operation.md#commands). */

import { nearest } from "../../wire/nearest.ts"
import { table } from "../table.ts"

const commands = {
  help: ["", "shows this list"],
  model: ["[ID]", "shows the model and the IDs that the key may use, or goes on with another"],
  system: ["[TEXT]", "sets the system message, or removes it"],
  clear: ["", "forgets the conversation; the system message stays"],
  exit: ["", "ends the chat, as Ctrl-D does"]
} as const

export type CommandName = keyof typeof commands

export type Line =
  | { readonly _tag: "Message"; readonly text: string }
  | { readonly _tag: "Command"; readonly name: CommandName; readonly argument: string }
  | { readonly _tag: "Unknown"; readonly name: string }

const isCommand = (name: string): name is CommandName => Object.hasOwn(commands, name)

/** A slash and a word of letters is a command; `/etc/hosts` and ` /help` are messages. */
export const parseLine = (text: string): Line => {
  const [, name = "", argument = ""] = /^\/([A-Za-z]+)(?:\s+(.*))?$/s.exec(text.trimEnd()) ?? []
  if (name === "") return { _tag: "Message", text }
  return isCommand(name) ? { _tag: "Command", name, argument: argument.trim() } : { _tag: "Unknown", name }
}

export const helpText = `${table(
  Object.entries(commands).map(([name, [argument, description]]) => [`  /${name} ${argument}`, description])
)}  Ctrl-C ends an answer that is being written; at the prompt it ends the chat. A message that begins with such a word
  needs a space before it.`

export const unknownCommand = (name: string): string => {
  const suggestion = nearest(name, Object.keys(commands))
  return `There is no /${name}${suggestion === undefined ? "" : `; is /${suggestion} meant?`} /help lists the commands. To send it to the model, put a space before it.`
}

/** Why the chat cannot go on with an ID; undefined where it can. */
export const refuseModel = (id: string, available: ReadonlyArray<string>): string | undefined => {
  if (available.includes(id)) return undefined
  const sameBase = available.filter((other) => other.startsWith(`${id.split(":", 1)[0]}:`))
  const near = sameBase.length > 0 ? sameBase : [nearest(id, available)].filter((other) => other !== undefined)
  return `${JSON.stringify(id)} is no model ID that this key may use${near.length === 0 ? "; /model lists them" : `; near: ${near.join(", ")}`}`
}
