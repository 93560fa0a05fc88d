/** What the README states of the code is what the code has. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../src/api/Api.ts"
import { ErrorType } from "../src/api/Errors.ts"
import { clouds, type Catalog as CatalogType, Catalog } from "../src/model/Catalog.ts"
