const set = (words: string): ReadonlySet<string> => new Set(words.split(" "))

/** Suffixes under which anyone may register a name, a selection of the Public Suffix List: those that are hardly ever anything else. */
const plain = set(
  "com net org edu gov mil biz onion online website shop club xyz tech vip agency digital finance hosting press " +
    "software solutions studio systems ngrok co.uk org.uk ac.uk gov.uk com.au net.au org.au co.jp ne.jp or.jp com.br com.cn " +
    "com.mx co.nz co.za co.in co.kr com.tr com.sg com.hk com.tw github.io gitlab.io pages.dev workers.dev vercel.app " +
    "netlify.app herokuapp.com web.app ngrok.io ngrok.app ngrok-free.app trycloudflare.com r2.dev fly.dev onrender.com " +
    "рф рус укр бел срб 中国 中國 公司 网络 网址 在线 台灣 香港 한국 भारत みんな امارات السعودية"
)

/** Those that also end names in code and file names: they count as a whole value, after `to` or `from`, and below two labels. */
const doubtful = set(
  "io co ai app dev tv uk de fr jp cn ru br au ca eu nl es ch se fi dk pt gr cz hu ie il kr mx ar cl nz za sg hk tw th vn " +
    "ph tr ua ro bg sk si hr lt lv ee lu gg fm kz ir pk su tk ml ga cf gq ws aero mobi asia jobs pro internal " +
    "intranet corp lan example"
)

/** Words that are fields in code, too: below two labels. */
const wordy = set("info me us pl cloud top win store site network services link work zone space world live")

/** Words that hardly ever end a host: only with a port, a path, a user, or where a host is expected. */
const fields = set("local id name is it in to at be no so do my host page email click service")

/** What a name ends with: how much it takes for a host. */
export const suffixOf = (labels: ReadonlyArray<string>): "plain" | "doubtful" | "wordy" | "field" | undefined => {
  const last = labels.at(-1) ?? ""
  if (plain.has(last) || (labels.length > 2 && plain.has(labels.slice(-2).join(".")))) return "plain"
  if (last.startsWith("xn--")) return "plain"
  return doubtful.has(last) ? "doubtful" : wordy.has(last) ? "wordy" : fields.has(last) ? "field" : undefined
}
export const isSuffix = (name: string): boolean => suffixOf([name]) !== undefined

/** First labels of reversed names: `com.example.app`. */
export const reversedStarts = set("com org net io edu gov java javax kotlin android")

/** Variables and modules, which have fields: `self.id`, `sys.org`. */
export const variables = set(
  "self this that sys os user users account config cfg settings option options opts props state data item items obj " +
    "object row record entry e ev evt event el elem element node model form field fields input output arg args param params " +
    "env process module exports window document location console math date string array number json req request res " +
    "resp response result ctx context session profile payload body message msg page order customer employee member team " +
    "repo project company org organization np pd df plt torch tf cls super it task job file path list map foo bar asp " +
    "ado vb ml system socket layer network client"
)
