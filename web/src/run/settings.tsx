// The settings of a run: what differs from its preset, or from the run beside it, and all of them.
import type { components } from "../api";
import { Section } from "../parts/page";
import { Table, type Column } from "../parts/table";

type RunDetail = components["schemas"]["RunDetail"];

interface Row {
  name: string;
  value: unknown;
  other: unknown;
}

export function Settings({ run, beside }: { run: RunDetail; beside: RunDetail | null }) {
  const rows =
    beside === null
      ? run.differs_from_preset.map(({ name, value, preset_value }) => ({ name, value, other: preset_value }))
      : differences(run.config, beside.config);
  const against = beside === null ? `preset ${run.preset}` : beside.name;
  return (
    <Section title="Settings">
      {beside === null && run.preset === "" ? (
        <p class="section-note">No preset of this game is known to compare with.</p>
      ) : rows.length === 0 ? (
        <p class="section-note">The same as {beside === null ? `the ${against}` : `those of ${against}`}.</p>
      ) : (
        <Table
          caption={`Settings that differ from ${against}`}
          columns={columns(beside === null ? "This run" : run.name, beside === null ? `Preset ${run.preset}` : against)}
          rows={rows}
          rowKey={(row) => row.name}
        />
      )}
      <details class="more">
        <summary>All settings{beside === null ? "" : ` of ${run.name}`}</summary>
        <div class="config">
          {Object.entries(run.config).map(([section, settings]) => (
            <div key={section} class="config-section">
              <h3>{section}</h3>
              <dl>
                {Object.entries(settings).map(([name, value]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{written(value)}</dd>
                  </div>
                ))}
              </dl>
            </div>
          ))}
        </div>
      </details>
    </Section>
  );
}

function columns(first: string, second: string): readonly Column<Row>[] {
  return [
    { title: "Setting", isHead: true, cell: (row) => <code>{row.name}</code> },
    { title: first, cell: (row) => <code>{written(row.value)}</code> },
    { title: second, cell: (row) => <code class="soft">{written(row.other)}</code> },
  ];
}

type Config = RunDetail["config"];

/** The settings whose values differ, by full name; one that a run lacks is undefined there. */
export function differences(first: Config, second: Config): Row[] {
  const [ours, theirs] = [flat(first), flat(second)];
  const names = [...new Set([...ours.keys(), ...theirs.keys()])];
  return names
    .map((name) => ({ name, value: ours.get(name), other: theirs.get(name) }))
    .filter(({ value, other }) => JSON.stringify(value) !== JSON.stringify(other));
}

function flat(config: Config): Map<string, unknown> {
  return new Map(
    Object.entries(config).flatMap(([section, settings]) =>
      Object.entries(settings).map(([name, value]): [string, unknown] => [`${section}.${name}`, value]),
    ),
  );
}

function written(value: unknown): string {
  if (value === undefined) return "–";
  return typeof value === "string" && value !== "" ? value : JSON.stringify(value);
}
