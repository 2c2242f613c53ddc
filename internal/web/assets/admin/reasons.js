// Changes of operators, each with a reason that stays in the audit.

import { html } from "../ui.js";
import { Stated } from "../reasons.js";
import { useChange } from "./console.js";

/**
 * A button that asks for a reason in a dialog and then posts it to `path` as an operator: see `Stated`.
 * @param {{label: string, question: string, path: string, read?: (values: any) => Record<string, unknown>, kind?: string, accept?: string,
 *   onDone: (answer: Response, body: any) => unknown, children?: any}} props
 */
export const Action = (props) => html`<${Stated} ...${props} useChange=${useChange} />`;
