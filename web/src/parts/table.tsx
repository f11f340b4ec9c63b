// Tables from columns and rows: one place that knows how a table looks and how it folds on a phone.
import type { ComponentChildren } from "preact";

export interface Column<Row> {
  title: ComponentChildren;
  cell: (row: Row) => ComponentChildren;
  /** Numbers stand on the right. */
  isNumber?: boolean;
  /** When folded it has a line of its own. */
  isWide?: boolean;
  /** This column names the row. */
  isHead?: boolean;
  /** What stands before the value when the table is folded; default: the title, if it is text. */
  label?: string;
}

interface TableProps<Row> {
  /** Read aloud, not shown. */
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string | number;
  /** Rows in the alert colour: something stands still. */
  isAlert?: (row: Row) => boolean;
  /** `stack`: rows become blocks on a phone; `scroll`: the table scrolls within itself. */
  narrow?: "stack" | "scroll";
}

export function Table<Row>({ caption, columns, rows, rowKey, isAlert, narrow = "stack" }: TableProps<Row>) {
  const table = (
    <table class={narrow === "stack" ? "table table-stack" : "table"}>
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map((column, index) => (
            <th key={index} scope="col" class={column.isNumber ? "number" : ""}>
              {column.title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)} class={isAlert?.(row) ? "row-alert" : ""}>
            {columns.map((column, index) =>
              column.isHead ? (
                <th key={index} scope="row">
                  {column.cell(row)}
                </th>
              ) : (
                <td key={index} class={cellClass(column)} data-label={label(column)}>
                  {column.cell(row)}
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
  if (narrow === "stack") return table;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label={caption}>
      {table}
    </div>
  );
}

function cellClass<Row>({ isNumber, isWide }: Column<Row>): string {
  return [isNumber ? "number" : "", isWide ? "wide" : ""].join(" ").trim();
}

function label<Row>(column: Column<Row>): string | undefined {
  return column.label ?? (typeof column.title === "string" && column.title !== "" ? column.title : undefined);
}
