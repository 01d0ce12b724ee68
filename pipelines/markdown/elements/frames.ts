import { isReachable } from '../text/address.js'
import type { Tag } from '../text/events.js'
import type { Family } from './element.js'
import { embed } from './media.js'

/** Attributes with the address of a frame. Attributes for scripts that load it later are last. */
const SOURCES = ['src', 'data-src', 'data-lazy-src']

/** Hosts of advertisements, of statistics and of checks whether the visitor is human. */
const HOSTS =
  /^(?:https?:)?\/\/(?:[\w-]+\.)*(?:googlesyndication\.com|doubleclick\.net|googletagmanager\.com|imasdk\.googleapis\.com|googleadservices\.com|amazon-adsystem\.com|adnxs\.com|criteo\.(?:com|net)|taboola\.com|outbrain\.com|disqusads\.com|rubiconproject\.com|openx\.net|hcaptcha\.com|recaptcha\.net|challenges\.cloudflare\.com)(?:[/:?#]|$)/i

/** Frames with a button to share or follow. */
const BUTTONS =
  /^(?:https?:)?\/\/(?:(?:www|m|staticxx)\.facebook\.com\/(?:v[\d.]+\/)?(?:plugins\/(?:like|likebox|share_button|follow|send|save|fan)|connect\/xd_arbiter)|platform\.twitter\.com\/(?:widgets\/(?:follow_button|tweet_button|hub|widget_iframe)|jot)|apis\.google\.com\/|(?:www\.)?google\.com\/recaptcha\/|accounts\.google\.com\/)/i

/** Patterns of frames with a player or a map, for frames without a title. */
const KINDS: readonly (readonly [label: string, pattern: RegExp])[] = [
  [
    'Video',
    /^(?:https?:)?\/\/(?:www\.youtube(?:-nocookie)?\.com\/embed|player\.vimeo\.com\/video|www\.dailymotion\.com\/embed)\//i,
  ],
  [
    'Audio',
    /^(?:https?:)?\/\/(?:open\.spotify\.com\/embed|w\.soundcloud\.com\/player|bandcamp\.com\/EmbeddedPlayer)\b/i,
  ],
  [
    'Map',
    /^(?:https?:)?\/\/(?:www\.google\.[a-z.]{2,6}\/maps|maps\.google\.[a-z.]{2,6}|www\.openstreetmap\.org\/export\/embed)\b/i,
  ],
]

const labelOf = (src: string): string => KINDS.find(([, pattern]) => pattern.test(src))?.[0] ?? 'Embedded page'

export const frames: Family = {
  names: ['iframe', 'frame', 'amp-iframe'],
  open(page, tag) {
    const src = SOURCES.map((name) => tag.attribute(name)).find((url) => url !== undefined && isPage(url))
    if (src !== undefined && !isTiny(tag) && !HOSTS.test(src) && !BUTTONS.test(src))
      embed(page, tag.attribute('title')?.trim() || labelOf(src.trim()), src)
    return 'skip'
  },
}

const isPage = (url: string): boolean => url.trim() !== '' && isReachable(url.trim())

/** Returns whether a frame has no size. Such frames count visits. */
export const isTiny = (tag: Tag): boolean =>
  /^[01](?:px)?$/.test(tag.attribute('width') ?? '') || /^[01](?:px)?$/.test(tag.attribute('height') ?? '')
