// The few words of a browser's document that the page uses. With the library of all of them, every package could use them.

export interface PageElement {
  textContent: string | null;
  className: string;
  value: string;
  hidden: boolean;
  disabled: boolean;
  max: number;
  files: ArrayLike<File> | null;
  append(...children: (PageElement | string)[]): void;
  replaceChildren(...children: (PageElement | string)[]): void;
  addEventListener(type: string, listener: (event: PageEvent) => void): void;
  focus(): void;
  scrollIntoView(): void;
}

export interface PageEvent {
  readonly dataTransfer?: { readonly files: ArrayLike<File> };
  preventDefault(): void;
}

interface PageDocument {
  readonly body: PageElement;
  getElementById(id: string): PageElement | null;
  createElement(name: string): PageElement;
}

/** The element of the page with this id. */
export function element(id: string): PageElement {
  const found = page().getElementById(id);
  if (found === null) throw new Error(`the page has no ${id}`);
  return found;
}

export function newElement(name: string, text: string, className = ''): PageElement {
  const made = page().createElement(name);
  made.textContent = text;
  made.className = className;
  return made;
}

export function page(): PageDocument {
  return (globalThis as unknown as { readonly document: PageDocument }).document;
}
