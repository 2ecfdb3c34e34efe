/** Takes the place of a style element in xterm.js: a constructed style sheet, which the content security policy allows. See xterm-styles.ts. */
export class AdoptedStyle {
  readonly #sheet = new CSSStyleSheet();

  constructor() {
    document.adoptedStyleSheets.push(this.#sheet);
  }

  set textContent(rules: string) {
    this.#sheet.replaceSync(rules);
  }

  remove(): void {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== this.#sheet);
  }
}
