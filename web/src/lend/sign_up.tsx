// Before the first game: what happens, what is stored and how it is deleted, and a name for the community page.
import { useState } from "preact/hooks";
import { ApiError, post } from "../client";
import { Button, Field, Switch } from "../parts/controls";
import { ErrorNote, Section } from "../parts/page";
import { keepToken } from "./lender";
import type { LendStatus } from "./tabs";

interface SignUpProps {
  status: LendStatus;
  onToken: (token: string) => void;
}

/** What the server takes. */
const NAME = /^[\p{L}\p{M}\p{Nd}_ .'-]{2,40}$/u;

export function SignUp({ status, onToken }: SignUpProps) {
  const [name, setName] = useState("");
  const [hasAgreed, setAgreed] = useState(false);
  const [given, setGiven] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const take = (token: string): void => {
    keepToken(token);
    onToken(token);
  };
  const signUp = async (): Promise<void> => {
    try {
      const body = { name, consent: status.consent.version };
      take((await post("/api/v1/lend/accounts", { body })).token);
    } catch (fault) {
      setError(fault instanceof ApiError ? fault : new ApiError("unknown", String(fault), 0));
    }
  };
  return (
    <Section title="Before the first game">
      <form
        class="lend-form"
        onSubmit={(event) => {
          event.preventDefault();
          void signUp();
        }}
      >
        {status.consent.text.split("\n\n").map((paragraph) => (
          <p key={paragraph}>{paragraph}</p>
        ))}
        <StoredHere />
        <Field
          label="Your name on the community page"
          value={name}
          onInput={setName}
          placeholder="Letters, digits, spaces, . ' -"
        />
        <Switch label="I agree" isOn={hasAgreed} onChange={setAgreed} />
        {error && <ErrorNote error={error} />}
        <div>
          <Button type="submit" tone="main" disabled={!hasAgreed || !NAME.test(name.trim())}>
            Sign up
          </Button>
        </div>
      </form>
      <details class="lend-more">
        <summary>I have an account</summary>
        <form
          class="lend-form"
          onSubmit={(event) => {
            event.preventDefault();
            take(given.trim());
          }}
        >
          <p class="section-note">Its token is shown on the Lend page of the browser that signed up.</p>
          <Field label="Token" value={given} onInput={setGiven} />
          <Switch label="I agree to the text above" isOn={hasAgreed} onChange={setAgreed} />
          <div>
            <Button type="submit" disabled={!hasAgreed || given.trim().length < 16}>
              Use this account
            </Button>
          </div>
        </form>
      </details>
    </Section>
  );
}

/** What this browser keeps. */
export function StoredHere() {
  return (
    <p>
      This browser stores the account's token, your choices, a random number that tells this device from your others,
      the newest weights, and finished games until the server has them. Deleting the account erases all of it.
    </p>
  );
}
