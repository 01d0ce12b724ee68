import { codeAt, holds } from '../text/characters.js'
import type { Skip, Tag } from '../text/events.js'

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

/** Classes of links that are visible only with the focus. On the page itself such links skip a part of the page. */
const UNSEEN = /(?:^|\s)(?:screen-reader-text|sr-only|visually-?hidden)(?:-focusable)?(?:\s|$)/i

/**
 * Returns `skip` for a link that serves the mouse or the keyboard and not the reader, or the text that makes it one. Only
 * links to a place on the page are such.
 */
export function markOf(tag: Tag, url: string, inHeading: boolean): Skip | RegExp | undefined {
  if (url === '' || codeAt(url, 0) !== 0x23) return inHeading && holds(url, '#') ? PERMALINK : undefined
  const label = tag.attribute('aria-label')
  if (label !== undefined && LABEL.test(label)) return 'skip'
  const classes = tag.attribute('class')
  if (classes === undefined) return inHeading ? PERMALINK : MARK
  if (CLASS.test(classes)) return 'skip'
  if (inHeading) return PERMALINK
  if (UNSEEN.test(classes)) return 'skip'
  return /anchor|permalink/i.test(classes) ? PERMALINK : MARK
}

/** Addresses that open a dialog to share the page. */
const SHARES = new RegExp(
  String.raw`^(?:(?:https?:)?//(?:[\w-]+\.)*(?:facebook\.com/(?:sharer?(?:[./?]|$)|dialog/(?:share|feed|send))|` +
    String.raw`(?:twitter|x)\.com/(?:intent/(?:tweet|post)|share\b|home\?status=)|linkedin\.com/(?:share|cws/share)|` +
    String.raw`pinterest\.[a-z.]{2,6}/pin/create|reddit\.com/submit|tumblr\.com/(?:widgets/)?share|` +
    String.raw`whatsapp\.com/send|wa\.me/\?|t(?:elegram)?\.me/share|getpocket\.com/(?:save|edit)|` +
    String.raw`news\.ycombinator\.com/submitlink|vk\.com/share|connect\.ok\.ru/|social-plugins\.line\.me/|` +
    String.raw`xing\.com/spi/|b\.hatena\.ne\.jp/(?:add|entry)|buffer(?:app)?\.com/add|share\.flipboard\.com/|` +
    String.raw`service\.weibo\.com/share|bsky\.app/intent/|threads\.(?:net|com)/intent/)|` +
    String.raw`mailto:\?|sms:\?|whatsapp://send|fb-messenger://share)`,
  'i',
)

/** Returns whether a link to `url` shares the page. Without its own text such a link is a button. */
export const sharesPage = (url: string): boolean => SHARES.test(url)

/** Classes of parts with links to share the page, or to follow its author. `social-security` is not in this set. */
const SHARING = new RegExp(
  String.raw`(?:^|\s|(?:social|post|article|entry|page|content|story|blog|side|sidebar|sticky|floating|widget|js)[-_]+)` +
    String.raw`(?:shar(?:e|ing)|socials?)(?=\s|$)|(?:^|[\s_-])(?:shar(?:e|ing)|socials?)` +
    String.raw`(?:[-_]*(?:shar(?:e|ing)|socials?|media|bar|block|box|buttons?|btns?|icons?|links?|list|menu|nav|tools?|` +
    String.raw`widgets?|panel|this|vertical|horizontal|sticky|floating|follow|networks?|container|wrapper))+(?=\s|$)`,
  'i',
)

/** Maximum characters of a class in which such a name is searched, because the pattern takes quadratic time. */
const MAX_CLASS = 300

/** Returns whether an element next to the content contains only such links. */
export const isForSharing = (tag: Tag): boolean =>
  ['class', 'id'].some((name) => SHARING.test((tag.attribute(name) ?? '').slice(0, MAX_CLASS)))
