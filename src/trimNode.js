/** Run by npm when it has installed the dependencies: a third of the package that brings Node are headers, for building native modules. */
import { readFileSync, rmSync } from "node:fs"

const { optionalDependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
for (const name of Object.keys(optionalDependencies)) {
  rmSync(new URL(`../node_modules/${name}/include`, import.meta.url), { recursive: true, force: true })
}
