/** What the pages for assessors state is what the gateway has, and the component definition is OSCAL. */
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { definition, markdown } from "../../.ci/controls.ts"
import { algorithms } from "../../src/identity/IdentityFile.ts"
import { UsageRecord } from "../../src/limits/UsageRecord.ts"
import { evidence } from "../../src/operators/doctor/evidence.ts"
import { settingNames } from "../../src/unknownSettings.ts"
import { type Manifest, root, text, yaml } from "../support/deployFiles.ts"
import { documents, spans } from "../support/readme.ts"
import { haveTools, toolFile } from "../tools/tools.ts"

/**
 * The part of NIST's schema that the file uses, by hand from
 * https://github.com/usnistgov/OSCAL/releases/download/v1.1.3/oscal_component-definition_schema.json: no package of npm ships it.
 */
const Uuid = Schema.String.check(
  Schema.isPattern(/^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[45][0-9A-Fa-f]{3}-[89ABab][0-9A-Fa-f]{3}-[0-9A-Fa-f]{12}$/)
)
const Token = Schema.String.check(Schema.isPattern(/^(\p{L}|_)(\p{L}|\p{N}|[.\-_])*$/u))
const Text = Schema.String.check(Schema.isPattern(/^\S(.*\S)?$/))
const Prop = Schema.Struct({ name: Token, value: Text, ns: Schema.optional(Schema.String) })
const Requirement = Schema.Struct({
  uuid: Uuid,
  "control-id": Token,
  description: Text,
  props: Schema.NonEmptyArray(Prop),
  links: Schema.NonEmptyArray(Schema.Struct({ href: Text, rel: Token })),
  "responsible-roles": Schema.NonEmptyArray(Schema.Struct({ "role-id": Token, remarks: Schema.optional(Text) }))
})
const Definition = Schema.Struct({
  uuid: Uuid,
  metadata: Schema.Struct({
    title: Text,
    "last-modified": Schema.String.check(Schema.isPattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/)),
    version: Text,
    "oscal-version": Schema.Literal("1.1.3"),
    roles: Schema.NonEmptyArray(Schema.Struct({ id: Token, title: Text }))
  }),
  components: Schema.NonEmptyArray(
    Schema.Struct({
      uuid: Uuid,
      type: Schema.Literal("software"),
      title: Text,
      description: Text,
      purpose: Text,
      props: Schema.NonEmptyArray(Prop),
      protocols: Schema.NonEmptyArray(
        Schema.Struct({
          uuid: Uuid,
          name: Text,
          title: Text,
          "port-ranges": Schema.NonEmptyArray(
            Schema.Struct({ start: Schema.Int, end: Schema.Int, transport: Schema.Literals(["TCP", "UDP"]) })
          )
        })
      ),
      "control-implementations": Schema.NonEmptyArray(
        Schema.Struct({
          uuid: Uuid,
          source: Text,
          description: Text,
          "implemented-requirements": Schema.NonEmptyArray(Requirement)
        })
      )
    })
  )
})

const file = "docs/compliance/component-definition.json"
const pages = documents.filter(({ file }) => file.startsWith("docs/compliance/"))

describe("the component definition", () => {
  const { components, metadata } = definition
  const requirements: ReadonlyArray<Manifest> = components[0]["control-implementations"][0]["implemented-requirements"]

  it("has the form that OSCAL gives it", () => {
    Schema.decodeUnknownSync(Definition, { onExcessProperty: "error" })(definition)
    const uuids = text(file).match(/(?<="uuid": ")[^"]+/g) ?? []
    assert.strictEqual(new Set(uuids).size, uuids.length)
  })

  const schema = process.env.GATEWAY_TEST_OSCAL_SCHEMA
  it.runIf(schema !== undefined && haveTools())("is valid by NIST's own schema", () => {
    const load = createRequire(toolFile("package.json"))
    const ajv = new (load("ajv").default)({ strict: false, allErrors: true })
    load("ajv-formats").default(ajv)
    const validate = ajv.compile(JSON.parse(readFileSync(schema ?? "", "utf8")))
    assert.isTrue(validate(JSON.parse(text(file))), JSON.stringify(validate.errors))
  })

  it("states each control once, by its status, its roles and where more is to be read", () => {
    const ids = requirements.map((requirement) => requirement["control-id"])
    assert.strictEqual(new Set(ids).size, ids.length)
    const roles = metadata.roles.map(({ id }: Manifest) => id)
    for (const { links, props, "control-id": id, "responsible-roles": responsible } of requirements) {
      assert.match(id, /^[a-z]{2}-\d+(\.\d+)?$/)
      assert.include(["implemented", "supported"], props.find(({ name }: Manifest) => name === "implementation").value)
      for (const role of responsible) assert.include(roles, role["role-id"])
      for (const { href } of links) assert.isTrue(existsSync(join(root, href.split("#")[0])), `${id}: ${href}`)
    }
  })

  it("is of this version, and makes the page", () => {
    assert.strictEqual(metadata.version, JSON.parse(text("package.json")).version)
    assert.strictEqual(text("docs/compliance/controls.md"), markdown())
  })
})

describe("what the pages name is there", () => {
  const named = pages.flatMap(({ file, text }) => spans(text).map((span) => [file, span] as const))

  it("alerts", () => {
    const alerts = yaml("deploy/helm/files/alerts.yaml").groups.flatMap(({ rules }: Manifest) =>
      rules.map(({ alert }: Manifest) => alert)
    )
    const found = named.filter(([, span]) => /^Gateway[A-Z]\w+$/.test(span))
    assert.isAbove(found.length, 5)
    for (const [file, span] of found) assert.include(alerts, span, file)
  })

  it("fields of records", () => {
    const fields = Object.keys(UsageRecord.fields)
    const columns = pages.flatMap(({ tables }) =>
      tables
        .filter(({ header }) => header[1] === "Field of a record")
        .flatMap(({ rows }) => rows.flatMap(([, cell = ""]) => spans(cell)))
    )
    const others = named
      .map(([, span]) => span)
      .filter((span) => /^[a-z]+(_[a-z]+)+$/.test(span) && !/^gateway_/.test(span))
    assert.isAbove(columns.length, 10)
    for (const field of [...columns, ...others]) assert.include(fields, field)
  })

  it("all ways in and out, all that is written, and the algorithms of tokens", () => {
    const ways = /^GATEWAY_(?:.*_?PORT|.*_URL|.*_PROXY|GUARDS_FILE|IDENTITY_FILE|KEYS_FILE|.*_LOG|STATE_DIR)$/
    const found = [...settingNames()].filter((name) => ways.test(name))
    assert.isAbove(found.length, 8)
    for (const name of found) assert.include(text("docs/compliance/data.md"), `\`${name}\``)
    for (const name of algorithms) assert.include(text("docs/compliance/cryptography.md"), `\`${name}\``)
  })

  it("parts of the evidence", async () => {
    const found = await Effect.runPromise(Effect.provide(evidence({ GATEWAY_PORT: "0" }), NodeServices.layer))
    const parts = pages.flatMap(({ file, text }) =>
      [...text.matchAll(/doctor --evidence` \(([^)]+)\)/g)].flatMap(([, parts = ""]) =>
        spans(parts).map((part) => [file, part] as const)
      )
    )
    assert.isAbove(parts.length, 10)
    for (const [file, part] of parts) assert.property(found, part, file)
  })

  it("commands and scripts", () => {
    const commands = new Set(["serve", "keys", "teams", "catalog", "usage", "doctor", "chat"])
    const called = pages.flatMap(({ text }) => [...text.matchAll(/npm run gateway -- ([a-z]+)/g)])
    for (const [call, command = ""] of called) assert.isTrue(commands.has(command), call)
    for (const [file, span] of named) {
      if (span.startsWith(".ci/")) assert.isTrue(existsSync(join(root, span.split(" ")[0] ?? "")), `${file}: ${span}`)
    }
  })
})
