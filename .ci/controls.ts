/** Makes docs/compliance/controls.md from the component definition beside it, which is the source: node .ci/controls.ts */
import { readFileSync, writeFileSync } from "node:fs"
import { join, posix } from "node:path"

const folder = join(import.meta.dirname, "../docs/compliance")
export const definition = JSON.parse(readFileSync(join(folder, "component-definition.json"), "utf8"))[
  "component-definition"
]

interface Requirement {
  readonly "control-id": string
  readonly description: string
  readonly props: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly links: ReadonlyArray<{ readonly href: string }>
  readonly "responsible-roles": ReadonlyArray<{ readonly "role-id": string; readonly remarks?: string }>
}

/** `ac-2.3` is written AC-2(3) in the catalog of controls. */
const label = (id: string) => id.toUpperCase().replace(/\.(\d+)$/, "($1)")
const prop = ({ props }: Requirement, wanted: string) => props.find(({ name }) => name === wanted)?.value ?? ""

const row = (requirement: Requirement): string => {
  const { description, links, "control-id": id, "responsible-roles": roles } = requirement
  const remarks = roles.find((role) => role["role-id"] === "operator")?.remarks ?? ""
  const evidence = links.map(({ href }) => `[${posix.basename(href)}](${posix.relative("docs/compliance", href)})`)
  const cells = [
    `${label(id)} ${prop(requirement, "label")}`,
    prop(requirement, "implementation"),
    description,
    remarks,
    evidence.join(", ")
  ]
  return `| ${cells.join(" | ")} |`
}

const implementation = definition.components[0]["control-implementations"][0]
export const markdown = (): string => `# Controls

Made from [component-definition.json](component-definition.json) (OSCAL ${definition.metadata["oscal-version"]}) by \`node .ci/controls.ts\`; change that file, not this page.

${implementation.description}

*implemented*: the gateway does it; the operator does what the fourth column says. *supported*: the control is the operator's, and the gateway gives what it needs.

| Control | Status | The gateway | The operator | More |
|---|---|---|---|---|
${implementation["implemented-requirements"].map(row).join("\n")}
`

if (import.meta.main) writeFileSync(join(folder, "controls.md"), markdown())
