import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    root: new URL("..", import.meta.url).pathname,
    include: ["test/**/*.test.ts"],
    // Most of a run was loading the same modules for each file. A test leaves nothing behind: no variable, no listener, no server.
    isolate: false,
    // Tests that wait leave a core to others.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 20_000,
    hookTimeout: 30_000
  }
})
