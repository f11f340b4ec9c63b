// Lend: this browser plays training games for the run. Consent and account first; then what it does and what it may.
import { useState } from "preact/hooks";
import { useGet } from "../client";
import { SignUp } from "../lend/sign_up";
import { LendTabs, LendingIsOff } from "../lend/tabs";
import { AtWork } from "../lend/at_work";
import { readToken } from "../lend/lender";
import { gameText } from "../parts/format";
import { ErrorNote, Loading, PageHead } from "../parts/page";
import "../play/play.css";
import "../styles/lend.css";

export default function LendPage() {
  const status = useGet("/api/v1/lend");
  const [token, setToken] = useState(readToken());
  const { data } = status;
  const lent = data?.lent ?? null;
  const below =
    lent === null
      ? "Your browser plays games that a run trains on."
      : `Your browser plays ${gameText(lent.game, lent.options)} for the run ${lent.run}.`;
  return (
    <>
      <PageHead title="Lend" below={below} />
      <LendTabs />
      {status.error && <ErrorNote error={status.error} />}
      {data === null ? (
        status.isLoading && <Loading />
      ) : !data.is_on ? (
        <LendingIsOff reason={data.reason} />
      ) : !isSecureContext ? (
        <p class="note note-alert" role="alert">
          A browser plays only over https, or on the server's own machine: elsewhere it offers neither hashes nor
          threads.
        </p>
      ) : token === null ? (
        <SignUp status={data} onToken={setToken} />
      ) : (
        <AtWork status={data} token={token} onForgotten={() => setToken(null)} />
      )}
    </>
  );
}
