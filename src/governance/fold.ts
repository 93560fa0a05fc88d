/**
 * Characters that are drawn like a Latin letter and that Unicode's compatibility decomposition does not map to one. Each word is
 * a Latin letter followed by its look-alikes (a selection from Unicode's confusables, UTS #39). Capitals are listed apart from
 * small letters, because they may look like another letter: `Н` is an H, `η` an n.
 */
const drawnLike = [
  "aаɑαᴀ AАΑꓮᎪ bЬьвβʙƅɓƀ BВΒꓐᏴ cсᴄϲↄƈȼ CСϹꓚᏟ dԁđᴅɗᏧ DĐꓓᎠ eеєεᴇɛɇ EЕΕꓰᎬ fƒꜰ Fꓝ gɡɢցɠ GꓖᏀ hһհʜᏂɦħ HНΗꓧᎻ",
  "iіιıɪɨ IІΙꓲᎥ jјᴊ JЈꓙᎫ kкκᴋƙ KКΚꓗᏦ lӏłʟɫ1 LŁꓡᏞ mмᴍɱ MМΜꓟᎷ nпηոɴɲ NΝꓠ oоοօσøᴏ0 OОΟØՕꓳ pрρᴘƥ PРΡꓑᏢ qԛ rгʀɽɍ",
  "RꓣᎡ sѕꜱʂ SЅꓢᏕᏚ tтτᴛƭŧ TТΤꓔᎢ uυսᴜʉ UՍꓴ vѵνᴠʋ VꓦᏙ wԝѡωաᴡⱳ WԜꓪᎳᏔ xхχ XХΧꓫ yуүγʏƴɏ YУΥҮꓬᎩᎽ zᴢȥƶ ZΖꓜᏃ"
]
  .flatMap((line) => line.split(" "))
  .flatMap(([letter = "", ...others]) => others.map((other): [string, string] => [other, letter]))

/** Where the alphabets in negative circles, in negative squares and of regional indicators begin. */
const enclosed = [0x1f150, 0x1f170, 0x1f1e6].flatMap((first) =>
  Array.from("abcdefghijklmnopqrstuvwxyz", (letter, at): [string, string] => [String.fromCodePoint(first + at), letter])
)

const lookAlikes = new Map([...drawnLike, ...enclosed])

/** Unicode's full case folding: `ſ` is an s, the Kelvin sign a k, `ﬆ` is st. */
export const foldCase = (text: string): string => text.toLowerCase().toUpperCase().toLowerCase()

/**
 * What a reader sees in a character: compatibility forms and accents resolved, look-alikes made Latin, lower case, and nothing but
 * letters and digits. So `webhookUrl`, `webhook-url`, `ｗｅｂｈｏｏｋ＿ｕｒｌ` and a name with invisible characters in it all read `webhookurl`.
 */
export const foldLetters = (character: string): string => {
  if (!/[\p{L}\p{N}\p{S}]/u.test(character)) return ""
  let letters = ""
  for (const part of character.normalize("NFKD"))
    letters += lookAlikes.get(part) ?? (/[\p{L}\p{N}]/u.test(part) ? part : "")
  return letters === "" ? "" : foldCase(letters).replace(/[^\p{L}\p{N}]|\p{Default_Ignorable_Code_Point}/gu, "")
}
