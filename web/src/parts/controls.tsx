// Buttons, selects and choices; all are the browser's own controls, so keyboard and screen readers know them.
import type { ComponentChildren, JSX } from "preact";

interface ButtonProps extends Omit<JSX.IntrinsicElements["button"], "type" | "class"> {
  /** `main`: the one thing to do here; `quiet`: beside something else. */
  tone?: "plain" | "main" | "quiet";
  type?: "button" | "submit";
  children: ComponentChildren;
}

export function Button({ tone = "plain", type = "button", children, ...rest }: ButtonProps) {
  return (
    <button {...rest} type={type} class={tone === "plain" ? "button" : `button button-${tone}`}>
      {children}
    </button>
  );
}

export interface Option<T extends string = string> {
  value: T;
  text: string;
  /** Options with the same group stand together under its name. */
  group?: string;
}

interface SelectProps<T extends string> {
  label: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
  isDisabled?: boolean;
}

/** A labelled list to choose one of. */
export function Select<T extends string>({ label, value, options, onChange, isDisabled = false }: SelectProps<T>) {
  const groups = [...new Set(options.map((option) => option.group))];
  const shown = (group: string | undefined) =>
    options
      .filter((option) => option.group === group)
      .map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ));
  return (
    <label class="field select">
      <span class="field-label">{label}</span>
      <select value={value} disabled={isDisabled} onChange={(event) => onChange(event.currentTarget.value as T)}>
        {groups.map((group) =>
          group === undefined ? (
            shown(group)
          ) : (
            <optgroup key={group} label={group}>
              {shown(group)}
            </optgroup>
          ),
        )}
      </select>
    </label>
  );
}

interface FieldProps {
  label: string;
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "number" | "search";
  min?: number;
  max?: number;
  step?: number;
  placeholder?: string;
  isDisabled?: boolean;
}

/** A labelled line of text or a number. */
export function Field({ label, onInput, isDisabled = false, type = "text", ...rest }: FieldProps) {
  return (
    <label class="field">
      <span class="field-label">{label}</span>
      <input
        {...rest}
        type={type as "number"} // Preact types each kind apart; these three take the same attributes
        class="input"
        disabled={isDisabled}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

interface ChoiceProps<T extends string> {
  /** What is chosen; read aloud. */
  label: string;
  /** The same in short, shown above the options where they do not say it themselves. */
  title?: string;
  value: T;
  options: readonly Option<T>[];
  onChange: (value: T) => void;
}

/** Two to five short options in a row, one pressed. */
export function Choice<T extends string>({ label, title, value, options, onChange }: ChoiceProps<T>) {
  const choice = (
    <div class="choice" role="group" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.text}
        </button>
      ))}
    </div>
  );
  if (title === undefined) return choice;
  return (
    <div class="field">
      <span class="field-label" aria-hidden="true">
        {title}
      </span>
      {choice}
    </div>
  );
}

interface SliderProps {
  label: string;
  value: number;
  /** The value for people: `50 %`. */
  text: string;
  min: number;
  max: number;
  step?: number;
  note?: string;
  isDisabled?: boolean;
  onChange: (value: number) => void;
}

/** A number chosen by sliding; it counts when it is let go. */
export function Slider({ label, value, text, note, isDisabled = false, onChange, ...range }: SliderProps) {
  return (
    <label class="field slider">
      <span class="slider-head">
        <span class="field-label">{label}</span> <span class="slider-value">{text}</span>
      </span>
      <input
        {...range}
        type="range"
        value={value}
        disabled={isDisabled}
        aria-valuetext={text}
        onChange={(event) => onChange(Number(event.currentTarget.value))}
      />
      {note && <span class="section-note">{note}</span>}
    </label>
  );
}

interface SwitchProps {
  label: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}

/** Something that is on or off. */
export function Switch({ label, isOn, onChange }: SwitchProps) {
  return (
    <label class="switch">
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}
