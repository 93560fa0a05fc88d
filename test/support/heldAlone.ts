import { frameReader } from "../../src/guards/frames.ts"
import type { About } from "../../src/guards/Guard.ts"
import { heldReply } from "../../src/guards/heldReply.ts"
import { chat } from "../../src/surfaces/chat.ts"
import { responses } from "../../src/surfaces/responses.ts"

const surfaces = { chat, responses }

/** A reply that is held back, sentence by sentence or whole, with no guard that looks at it. */
export const heldAlone = (surface: keyof typeof surfaces, all: boolean) => {
  const about: About = {
    ...{ id: "", surface, level: "il5", caller: undefined, images: 0, files: 0, span: undefined },
    takeMemory: () => true
  }
  const reader = frameReader(surface, surfaces[surface].guarded.reply)
  const nothing = () => undefined
  return heldReply(
    {
      about,
      guards: [],
      reader,
      actions: () => [],
      acted: nothing,
      usage: nothing,
      onWithheld: nothing,
      hold: nothing
    },
    all
  )
}
