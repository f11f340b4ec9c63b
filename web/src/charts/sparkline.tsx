/** The last values of something as a small line, without axes. */
export function Sparkline({ label, values }: { label: string; values: readonly number[] }) {
  if (values.length < 2) return null;
  const top = Math.max(...values, 0) || 1;
  const points = values.map((value, index) => {
    const x = (100 * index) / (values.length - 1);
    return `${x.toFixed(2)},${(29 - (28 * value) / top).toFixed(2)}`;
  });
  return (
    <svg class="sparkline" viewBox="0 0 100 30" preserveAspectRatio="none" role="img" aria-label={label}>
      <polyline points={points.join(" ")} />
    </svg>
  );
}
