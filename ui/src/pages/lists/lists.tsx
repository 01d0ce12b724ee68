import { Page } from '../../parts/page.tsx'

export default function Lists() {
  return <Page>Lists</Page>
}
