// Changes of operators, each with a reason that stays in the audit.

import { Button, html } from "../ui.js";
import { Stated } from "../reasons.js";
import { mayChange, useChange } from "./console.js";

/**
 * A button that asks for a reason in a dialog and then posts it to `path` as an operator: see `Stated`. Who may not make
 * the change has none.
 * @param {{label: string, question: string, path: string, read?: (values: any) => Record<string, unknown>, kind?: string, accept?: string,
 *   helpDesk?: boolean,
 *   onDone: (answer: Response, body: any) => unknown, children?: any}} props
 */
export const Action = (props) => mayChange(props.helpDesk) ? html`<${Stated} ...${props} useChange=${useChange} />` : null;

/**
 * A button of another change. Who may not make it has none.
 * @param {{helpDesk?: boolean, children?: any, [prop: string]: any}} props of `Button`
 */
export const Change = ({ helpDesk, ...props }) => mayChange(helpDesk) ? html`<${Button} ...${props} />` : null;
