// The design's constants for code that draws on a canvas: the same tokens as styles/tokens.css, resolved.

/** The computed colour of a token such as `accent`, in the theme now shown. */
export function color(token: string): string {
  probe.style.color = `var(--${token})`;
  return getComputedStyle(probe).color;
}

/** The colour of the line number `index` of a chart. */
export function seriesColor(index: number): string {
  return color(`series-${(index % numSeries) + 1}`);
}

/** The font of canvas text, `size` pixels high. */
export function canvasFont(size: number): string {
  return `${size}px ${getComputedStyle(document.documentElement).fontFamily}`;
}

const numSeries = 5;
const probe = document.createElement("span");
probe.hidden = true;
document.body.append(probe);
