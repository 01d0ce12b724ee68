import type { Family } from './element.js'
import { embed } from './media.js'

/** An element that a script makes a frame of. */
interface Embed {
  /** Attribute with the identifier or the address of the embedded object, and the address before the identifier. */
  readonly attribute: string
  readonly before: string
  readonly label: string
}

const YOUTUBE = 'https://www.youtube.com/watch?v='
const VIMEO = 'https://vimeo.com/'

const EMBEDS: Readonly<Record<string, Embed>> = {
  'lite-youtube': { attribute: 'videoid', before: YOUTUBE, label: 'Video' },
  'lite-vimeo': { attribute: 'videoid', before: VIMEO, label: 'Video' },
  'youtube-video': { attribute: 'src', before: '', label: 'Video' },
  'vimeo-video': { attribute: 'src', before: '', label: 'Video' },
  'amp-youtube': { attribute: 'data-videoid', before: YOUTUBE, label: 'Video' },
  'amp-vimeo': { attribute: 'data-videoid', before: VIMEO, label: 'Video' },
  'amp-dailymotion': { attribute: 'data-videoid', before: 'https://www.dailymotion.com/video/', label: 'Video' },
  'amp-twitter': { attribute: 'data-tweetid', before: 'https://twitter.com/i/status/', label: 'Post' },
  'amp-instagram': { attribute: 'data-shortcode', before: 'https://www.instagram.com/p/', label: 'Post' },
  'amp-facebook': { attribute: 'data-href', before: '', label: 'Post' },
}

/** Players and posts that a script loads when they are visible. */
export const embeds: Family = {
  names: Object.keys(EMBEDS),
  open(page, tag) {
    const { attribute, before, label } = EMBEDS[tag.name] as Embed
    const id = tag.attribute(attribute)?.trim() ?? ''
    if (id === '' || (before !== '' && !/^[\w-]{1,64}$/.test(id))) return undefined
    const name = ['videotitle', 'title', 'playlabel', 'aria-label'].map((each) => tag.attribute(each)?.trim())
    embed(page, name.find(Boolean) ?? label, before + id)
    return 'skip'
  },
}
