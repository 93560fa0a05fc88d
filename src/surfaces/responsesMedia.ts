/** The images and files in the input of a responses request, and how many bytes they are. */
import { arrayOf, isObject, type Json, textOf } from "../wire/json.ts"
import type { Counts } from "./Surface.ts"

/** Parts are in the content of messages, and in what tools put out. */
export const inputMedia = (input: Json | undefined): Omit<Counts, "tools"> => {
  let images = 0
  let files = 0
  let mediaBytes = 0
  for (const item of arrayOf(input)) {
    if (!isObject(item)) continue
    for (const part of [...arrayOf(item.content), ...arrayOf(item.output)]) {
      if (!isObject(part)) continue
      if (part.type === "input_image") images++
      else if (part.type === "input_file") files++
      else continue
      mediaBytes += (textOf(part.image_url) ?? textOf(part.file_data) ?? "").length
    }
  }
  return { images, files, mediaBytes }
}
