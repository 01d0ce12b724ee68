import type { Skip, Tag } from '../events.js'

/** Characters that generators of documentation write as a link to the heading beside it, and invisible ones. */
const SYMBOL = String.raw`[\s\u200b-\u200d\u2060\ufeff§¶∞]|⚓\ufe0f?|🔗\ufe0f?`

/** Text of a link to the heading that contains it. */
const PERMALINK = new RegExp(`^(?:${SYMBOL}|#)+$|^(?:permalink|link to this (?:heading|section|headline|title))$`, 'iu')

/** Text of a link outside of headings that links to the heading beside it, or skips a part of the page. */
const MARK = new RegExp(
  String.raw`^(?:${SYMBOL})+$|^section titled [“"]|` +
    String.raw`^\s*(?:skip|jump) (?:(?:directly )?(?:to|over|past) )?(?:the )?` +
    String.raw`(?:main|content|page content|primary|navigation|nav|search|footer|sidebar|site)\b.{0,30}$`,
  'iu',
)

/** Names for screen readers of links to the heading beside them. */
const LABEL =
  /^\s*(?:(?:permalink|permanent link|direct link|copy link|heading self-link)\b|link to this\b|anchor\s*$)/i

/** Classes of links to a heading, and of links that skip a part of the page. */
const CLASS =
  /(?:^|\s)(?:headerlink|hash-link|sl-anchor-link|anchorjs-link|mw-jump-link|skip-?link|skip-(?:nav|to|main|content)\S*|skip)(?:\s|$)/i

/** Classes of links that are visible only with the focus: on the page itself they skip a part of it. */
const UNSEEN = /(?:^|\s)(?:screen-reader-text|sr-only|visually-?hidden)(?:-focusable)?(?:\s|$)/i

/**
 * Returns `skip` for a link that serves the mouse or the keyboard and not the reader, or the text that makes it one. Only
 * links to a place on the page are such.
 */
export function markOf(tag: Tag, url: string, inHeading: boolean): Skip | RegExp | undefined {
  if (url.charCodeAt(0) !== 0x23) return inHeading && url.includes('#') ? PERMALINK : undefined
  const classes = tag.attribute('class') ?? ''
  if (CLASS.test(classes) || LABEL.test(tag.attribute('aria-label') ?? '')) return 'skip'
  if (inHeading) return PERMALINK
  if (UNSEEN.test(classes)) return 'skip'
  return /anchor|permalink/i.test(classes) ? PERMALINK : MARK
}
