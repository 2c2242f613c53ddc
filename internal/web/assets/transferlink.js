// The link of a transfer that the signed-in person made: to copy, and as a QR code.

import { Button, Copy, Icon, Problem, html, useAction, useState } from "./ui.js";
import { T } from "./i18n.js";
import { own, transfer } from "./api.js";

/** @param {{transfer: TransferAPI["Transfer"], primary?: boolean}} props `primary`: copying it is what comes next */
export function TransferLink({ transfer: t, primary = false }) {
  const [code, setCode] = useState("");
  const draw = useAction(async () => {
    const { response } = await own("GET", `${transfer}/transfers/${t.uid}/qr`, { accept: "image/svg+xml" });
    setCode(URL.createObjectURL(await response.blob()));
  });
  return html`<div class="share">
    <div class="link-box"><code>${t.link}</code><${Copy} kind=${primary ? "primary" : "plain"} text=${t.link}
      label=${T("Copy the link")} /></div>
    <div class="row ways"><${Button} icon="qr" kind="quiet" busy=${draw.busy} aria-expanded=${String(Boolean(code))}
      onClick=${() => (code ? setCode("") : draw.run())}>${T("QR code")}<//></div>
    ${code && html`<div class="qr-code"><img src=${code} alt=${T("QR code of your link")} width="200" height="200" />
      <div><a class="button" href=${code} download="link.svg"><${Icon} name="download" />${T("Download as SVG")}</a></div></div>`}
    <${Problem} error=${draw.error} />
  </div>`;
}
