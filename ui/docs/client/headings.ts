/** Marks the heading that is read in "On this page". */
export function followHeadings(): void {
  const links = new Map(
    [...document.querySelectorAll<HTMLAnchorElement>('aside a')].map((link) => [
      decodeURIComponent(link.hash.slice(1)),
      link,
    ]),
  )
  const headings = [...links.keys()].flatMap((id) => document.getElementById(id) ?? [])
  if (headings.length === 0) return
  const update = (): void => {
    const above = headings.findLast((heading) => heading.getBoundingClientRect().top < READING_LINE)
    const current = links.get((above ?? headings[0]!).id)
    for (const link of links.values()) {
      if (link === current) link.setAttribute('aria-current', 'location')
      else link.removeAttribute('aria-current')
    }
    if (current) keepVisible(current)
  }
  let isWaiting = false
  document.addEventListener(
    'scroll',
    () => {
      if (isWaiting) return
      isWaiting = true
      requestAnimationFrame(() => {
        isWaiting = false
        update()
      })
    },
    { passive: true },
  )
  update()
}

/** Distance from the top of the window at which a heading is the current one, in pixels. */
const READING_LINE = 120

function keepVisible(link: HTMLElement): void {
  const box = link.closest('nav')!
  const { top, bottom } = link.getBoundingClientRect()
  const frame = box.getBoundingClientRect()
  if (top < frame.top || bottom > frame.bottom) box.scrollTop += top - frame.top - frame.height / 2
}
