import { availableParallelism } from "node:os"
import { configDefaults, defineConfig } from "vitest/config"
import { haveTools, testsOfTools } from "./tools/tools.ts"

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    exclude: haveTools() ? configDefaults.exclude : [...configDefaults.exclude, ...testsOfTools()],
    // Most of a run was loading the same modules for each file. A test leaves nothing behind: no variable, no listener, no server.
    isolate: false,
    // Tests that wait leave their core to others.
    maxWorkers: availableParallelism() + 2,
    // What never ends is found, and a machine that is slow fails nothing.
    testTimeout: 60_000,
    hookTimeout: 60_000
  }
})
