/** Suffixes under which anyone may register a name, a selection of the Public Suffix List: those that are hardly ever anything else. */
export const plainSuffixes: ReadonlySet<string> = new Set(
  (
    "com org edu gov mil biz cloud online website site store shop club xyz click link live space tech top vip " +
    "agency digital email finance host hosting network page press services software solutions studio systems " +
    "win work world zone ngrok co.uk org.uk ac.uk gov.uk com.au net.au org.au co.jp ne.jp or.jp com.br com.cn com.mx " +
    "co.nz co.za co.in co.kr com.tr com.sg com.hk com.tw github.io gitlab.io pages.dev workers.dev vercel.app netlify.app " +
    "herokuapp.com web.app ngrok.io ngrok.app ngrok-free.app trycloudflare.com r2.dev fly.dev onrender.com"
  ).split(" ")
)

/**
 * Suffixes that also end names in code and file names, or that are words. A host with one of these counts only with a port
 * or a path, with three labels, or as a whole value.
 */
export const doubtfulSuffixes: ReadonlySet<string> = new Set(
  (
    "net io co ai app dev me info in is it to tv us uk de fr jp cn ru br au ca eu nl es ch se no fi dk at be pt gr cz hu " +
    "ie il kr mx ar cl nz za sg hk tw th vn ph my tr ua ro bg sk si hr lt lv ee lu ly gg gl fm am id ua kz ir pk su tk ml " +
    "ga cf gq ws xyz.us int aero mobi asia jobs pro name"
  ).split(" ")
)

/** First labels of reversed names: `com.example.app`. */
export const reversedStarts: ReadonlySet<string> = new Set(
  "com org net io edu gov dev app me co de uk fr ch jp cn eu ai java javax kotlin android".split(" ")
)
