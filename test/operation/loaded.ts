/** Loaded into the gateway by a test (`--import`): says at its end which modules it loaded, in the file that is named for it. */
import { writeFileSync } from "node:fs"
import { registerHooks } from "node:module"

const loaded = new Set<string>()
registerHooks({
  load: (url, context, next) => {
    loaded.add(url)
    return next(url, context)
  }
})
// Node's own modules, those among them that nobody asks for by name.
process.once("exit", () => {
  writeFileSync(
    process.env.GATEWAY_TEST_LOADED ?? "",
    JSON.stringify([...loaded, ...Reflect.get(process, "moduleLoadList")])
  )
})
