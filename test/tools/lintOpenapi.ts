/** Lints the OpenAPI document with Redocly's strict rules, as a part of `npm run lint`. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { OpenApi } from "effect/http-api"
import { Api } from "../../src/contract/Api.ts"
import { haveTools, toolFile } from "./tools.ts"

const lint = (): number => {
  const directory = mkdtempSync(join(tmpdir(), "openapi-"))
  try {
    writeFileSync(join(directory, "openapi.json"), JSON.stringify(OpenApi.fromApi(Api)))
    writeFileSync(join(directory, "redocly.yaml"), "extends: [recommended-strict]\n")
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      [toolFile("@redocly", "cli", "bin", "cli.js"), "lint", "openapi.json", "--format=stylish"],
      {
        cwd: directory,
        encoding: "utf8",
        // It reports nothing to anybody, and asks nobody for a newer version.
        env: { ...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
      }
    )
    console.log(status === 0 ? "The OpenAPI document is valid." : `${stdout}\n${stderr}`)
    return status ?? 1
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

// A machine without a registry lints the rest; one that builds for others must have it.
if (haveTools()) process.exitCode = lint()
else process.exitCode = process.env.CI === undefined ? 0 : 1
