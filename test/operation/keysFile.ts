/** Key files for tests. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { digestOf, newSecret } from "../../src/limits/Keys.ts"

/** A key's fields as they stand in the file. */
export type KeyFields = Readonly<Record<string, unknown>>

const record = (id: string, secret: string, fields: KeyFields) => ({
  id,
  name: id,
  digest: digestOf(secret),
  created: "2026-01-01T00:00:00.000Z",
  acknowledged: "2026-01-01T00:00:00.000Z",
  ...fields
})

/** Writes a file with these keys, by ID, and answers their secrets. */
export const keysFileWith = <Id extends string>(
  directory: string,
  keys: Readonly<Record<Id, KeyFields>>,
  teams: ReadonlyArray<KeyFields> = []
) => {
  const file = join(directory, "keys.json")
  const secrets = Object.fromEntries(Object.keys(keys).map((id) => [id, newSecret()])) as Record<Id, string>
  const write = (now: Readonly<Record<string, KeyFields>>) =>
    writeFileSync(
      file,
      JSON.stringify({
        version: 1,
        teams,
        keys: Object.entries(now).map(([id, fields]) =>
          record(id, Object.entries<string>(secrets).find(([other]) => other === id)?.[1] ?? newSecret(), fields)
        )
      })
    )
  write(keys)
  return { file, secrets, write }
}
