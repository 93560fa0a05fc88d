/**
 * Characters that are drawn like a Latin letter and that Unicode's compatibility decomposition does not map to one.
 * Each string is a Latin letter followed by its look-alikes (a selection from Unicode's confusables, UTS #39).
 * Capitals are listed apart from small letters, because they may look like another letter: `Н` is an H, `η` an n.
 */
const lookAlikes = new Map(
  [
    "aаɑαᴀ",
    "AАΑ",
    "bЬьвβʙƅ",
    "BВΒ",
    "cсᴄϲↄ",
    "CСϹ",
    "dԁđᴅɗ",
    "DĐ",
    "eеєεᴇ",
    "EЕΕ",
    "fƒꜰ",
    "gɡɢց",
    "hһհʜ",
    "HНΗ",
    "iіιıɪ",
    "IІΙ",
    "jјᴊ",
    "JЈ",
    "kкκᴋ",
    "KКΚ",
    "lӏłʟ",
    "LŁ",
    "mмᴍ",
    "MМΜ",
    "nпηոɴ",
    "NΝ",
    "oоοօσøᴏ",
    "OОΟØՕ",
    "pрρᴘ",
    "PРΡ",
    "qԛ",
    "rгʀ",
    "sѕꜱ",
    "SЅ",
    "tтτᴛ",
    "TТΤ",
    "uυսᴜ",
    "UՍ",
    "vѵνᴠ",
    "wԝѡωաᴡ",
    "WԜ",
    "xхχ",
    "XХΧ",
    "yуүγʏ",
    "YУΥҮ",
    "zᴢ",
    "ZΖ"
  ].flatMap(([letter = "", ...others]) => others.map((other): [string, string] => [other, letter]))
)

/**
 * A name reduced to what a reader sees: compatibility forms and accents resolved, look-alike letters made Latin, lower
 * case, and nothing but letters and digits kept. So `webhookUrl`, `webhook-url`, `ｗｅｂｈｏｏｋ＿ｕｒｌ` and a name with
 * zero-width characters in it all become `webhookurl`. Linear in the length of the name.
 */
export const foldName = (name: string): string => {
  let folded = ""
  // Marks are not kept, and putting many of them in order is what normalizing takes its time for.
  for (const character of name.replace(/\p{M}/gu, "").normalize("NFKD"))
    folded += lookAlikes.get(character) ?? character
  return folded.toLowerCase().replace(/[^\p{L}\p{N}]|\p{Default_Ignorable_Code_Point}/gu, "")
}
