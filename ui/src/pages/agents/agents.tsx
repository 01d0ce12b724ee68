import { Page } from '../../parts/page.tsx'

export default function Agents() {
  return <Page>Agents</Page>
}
